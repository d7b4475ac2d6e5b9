package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/cmdline"
	"whittle/systems/daemon"
)

// Program is one command that serves a Counter.
type Program struct {
	// Name of the command.
	Name string
	// Summary opens the help: what the command is, in a sentence or two.
	Summary string
	// Examples closes the help, one command a line.
	Examples string
	// Flags adds the command's own flags, which may be set by environment and
	// .env file like all others. Nil: none.
	Flags func(*flag.FlagSet)
	// Start makes the counter once the flags are known, and may add to the
	// metrics; stop is called after the last call has ended.
	Start func(prometheus.Registerer) (c Counter, stop func(), err error)
}

// Main runs p until SIGINT or SIGTERM and gives the exit status.
func Main(p Program) int {
	ctx, stop := cmdline.UntilSignal(context.Background())
	defer stop()
	said := cmdline.Program{Name: p.Name, Err: os.Stderr}
	return said.Report(p.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// Run serves until ctx ends. Once both ports are open it writes one line to
// stdout, "listening public=HOST:PORT admin=HOST:PORT"; logs go to stderr.
func (p Program) Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	var c config
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	c.register(f)
	if p.Flags != nil {
		p.Flags(f)
	}
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		p.help(f, stdout)
		return nil
	} else if err != nil {
		return whittle.Errorf(whittle.Invalid, "%v", err).WithHint(p.Name + " -h lists the flags")
	}
	if f.NArg() > 0 {
		return whittle.Errorf(whittle.Invalid, "%q is not a flag", f.Arg(0)).WithHint(p.Name + " -h lists the flags")
	}
	if err := fill(f, getenv); err != nil {
		return err
	}
	if err := c.check(ctx); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	counter, stop, err := p.Start(registry)
	if err != nil {
		return fmt.Errorf("start counter: %w", err)
	}
	defer stop()
	return serve(ctx, &c, counter, registry, daemon.Logger(stderr, c.level, c.json), stdout)
}

func (p Program) help(f *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage: %s [flags]\n\nFlags, each also as COUNT_NAME in the environment or in a .env file\n"+
		"(a flag goes before the environment, the environment before the file):\n", p.Summary, p.Name)
	f.SetOutput(w)
	f.PrintDefaults()
	fmt.Fprintf(w, "\nExamples:\n%s", p.Examples)
}

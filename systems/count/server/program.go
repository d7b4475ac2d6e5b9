package server

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"

	"whittle/cmdline"
	"whittle/systems/daemon"
)

// Program is one command that serves a Counter.
type Program struct {
	// Name of the command, and what --help begins with.
	Name, Description string
	// Start makes the counter once the flags are known, and may add to the
	// metrics; stop is called after the last call has ended.
	Start func(prometheus.Registerer) (c Counter, stop func(), err error)
	// Flags is a pointer to a struct that embeds a Command. Nil: there are no other flags.
	Flags any
}

// Command is the command line.
type Command struct{ Flags }

// Main runs p until SIGINT or SIGTERM and gives the exit status.
func Main(p Program) int {
	ctx, stop := cmdline.UntilSignal(context.Background())
	defer stop()
	return p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Run serves until ctx ends, and gives the exit status. Once both ports are open it writes
// one line to stdout, "listening public=HOST:PORT admin=HOST:PORT"; logs go to stderr.
func (p Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if p.Flags == nil {
		p.Flags = new(Command)
	}
	line := cmdline.Program{
		Name: p.Name, Description: p.Description, Verbs: p.Flags, Bind: []any{p, files{stdout, stderr}},
		Options: []kong.Option{kong.DefaultEnvars("COUNT")},
		Out:     stdout, Err: stderr,
	}
	return line.Run(ctx, args)
}

// files are what a command writes to.
type files struct{ out, err io.Writer }

// Run serves until ctx ends.
func (c *Command) Run(ctx context.Context, p Program, to files) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	counter, stop, err := p.Start(registry)
	if err != nil {
		return fmt.Errorf("start counter: %w", err)
	}
	defer stop()
	return serve(ctx, &c.Flags, counter, registry, daemon.Logger(to.err, c.LogLevel, c.LogJSON), to.out)
}

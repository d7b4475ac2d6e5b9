// Command demo runs the worked systems as demos on real processes, inside a
// checkout of whittle. It is not part of the product's binary.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"whittle/cmdline"
)

const description = `Runs a worked system's whole demo on real processes, each on a free loopback port, inside a checkout of whittle.

Exit status: 0 every act came out; 1 one did not; 2 bad usage; 3 could not run.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], cmdline.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, s cmdline.Streams) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	p := cmdline.Program{
		Name: "demo", Description: description, Verbs: &demoVerb{}, Bind: []any{s},
		Options: []kong.Option{kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true})},
		Out:     s.Out, Err: s.Err,
	}
	return p.Run(ctx, args)
}

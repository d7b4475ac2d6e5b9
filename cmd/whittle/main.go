// Command whittle moves one hot endpoint out of a monolith, and checks on live traffic
// that its replacement behaves the same before users depend on it.
package main

import (
	"context"
	"os"

	"whittle/cmdline"
)

func main() {
	ctx, stop := cmdline.UntilSignal(context.Background())
	status := Run(ctx, os.Args[1:], cmdline.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(status)
}

// Command whittle carves a hot endpoint out of a monolith into a fast service, and
// tests on real traffic, at a stated error rate and within stated margins, that the
// replacement gives the same responses and costs less before users depend on it.
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

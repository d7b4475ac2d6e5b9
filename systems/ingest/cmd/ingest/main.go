// Command ingest accepts events over HTTP and stores them on a durable stream.
// It responds when they are durable, and the response says how durable they
// are.
package main

import (
	"context"
	"os"

	"whittle/cmdline"
)

func main() {
	ctx, stop := cmdline.UntilSignal(context.Background())
	status := Run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}

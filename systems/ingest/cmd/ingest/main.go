// Command ingest takes events over HTTP and keeps them on a durable stream. It
// answers when they are durable and says how durable they are.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the second one has its usual effect: the end.
	context.AfterFunc(ctx, stop)
	status := Run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}

// Command emojify covers the faces in pictures: an API, a cache and face
// detection, as one process or each as its own.
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
	status := Run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}

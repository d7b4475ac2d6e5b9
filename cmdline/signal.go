package cmdline

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal gives a context that the first SIGINT or SIGTERM ends. Before it ends
// signals have their usual effect again, so whoever sees a program end its work can
// end it at once by a second one. stop lets go of both.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-first:
		case <-ctx.Done():
		}
		signal.Stop(first)
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

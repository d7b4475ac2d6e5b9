package table

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main is a benchmark's program: it runs until its end or a signal, and exits with 3
// where it could not run. Whoever asks for its flags has got them.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(3)
	}
}

// Results are a benchmark's rows. Every round's figures are for machines; people get
// what follows from them, the conclusion.
type Results struct {
	*T         // all of them
	conclusion *T
}

// NewResults starts without rows.
func NewResults(name string) *Results { return &Results{New(name), New(name)} }

// Conclude adds a row of the conclusion.
func (r *Results) Conclude(subject, metric string, value float64, unit string) {
	r.Add(subject, metric, value, unit)
	r.conclusion.Add(subject, metric, value, unit)
}

// Finish prints the conclusion and writes all rows into a folder.
func (r *Results) Finish(folder string) error {
	r.conclusion.Print(os.Stdout)
	return r.Write(folder)
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"whittle/bench/server"
)

// busy is work that takes the same number of steps at each call, none of which
// can begin before the one before it is done.
func busy(rounds int) uint64 {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate returns the rounds of work that take about so long here: by the
// quickest of some tries, the one that was disturbed least.
func calibrate(want time.Duration) int {
	const probe = 2_000_000
	best := time.Duration(1<<63 - 1)
	for range 15 {
		began := time.Now()
		if busy(probe) == 0 {
			continue // it never is; but the work must not be left out
		}
		best = min(best, time.Since(began))
	}
	return int(float64(probe) * float64(want) / float64(best))
}

// serve responds to every request after a number of rounds of work, until ctx ends.
func serve(ctx context.Context, args []string) error {
	f := flag.NewFlagSet(serving, flag.ContinueOnError)
	rounds := f.Int("rounds", 0, "of work for each response")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, busy(*rounds)) // whoever asked may have gone
	})}
	end := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer end()
	fmt.Printf("listening public=%s\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// startServer runs this binary as a process of its own.
func startServer(ctx context.Context, rounds int) (*server.Server, error) {
	return server.Start(ctx, nil, server.Self(), serving, "-rounds", strconv.Itoa(rounds))
}

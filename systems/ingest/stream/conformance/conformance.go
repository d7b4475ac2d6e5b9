// Package conformance is the suite that every adapter of a durable stream must
// pass, run over the real thing.
package conformance

import (
	"context"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// Option says what an adapter can do beyond, or short of, the contract.
type Option func(*suite)

// Reopens lets the suite open a stream again: reopen gets one that is closed,
// and opens what it was open on. Without it nothing is said about restarts.
func Reopens(reopen func(t *testing.T, closed stream.Stream) stream.Stream) Option {
	return func(s *suite) { s.reopen = reopen }
}

// Damages lets the suite have a record damaged where it is kept: damage changes
// what is stored of the record at a position, and gives a stream that is open
// on it, which may be another one than it was given.
func Damages(damage func(t *testing.T, s stream.Stream, at stream.Position) stream.Stream) Option {
	return func(s *suite) { s.damage = damage }
}

// Scale is how many records the larger tests append (without it: 2,000), for
// sinks that are slow.
func Scale(records int) Option { return func(s *suite) { s.scale = records } }

type suite struct {
	open   func(t *testing.T) stream.Stream
	reopen func(t *testing.T, closed stream.Stream) stream.Stream
	damage func(t *testing.T, s stream.Stream, at stream.Position) stream.Stream
	scale  int
}

// timeout bounds each wait, so that a broken adapter fails and does not hang.
const timeout = 60 * time.Second

// Run holds an adapter to the contract of stream.Stream. Each call of open
// gives a new and empty stream, which the suite closes.
func Run(t *testing.T, open func(t *testing.T) stream.Stream, options ...Option) {
	s := &suite{scale: 2000}
	for _, o := range options {
		o(s)
	}
	s.open = func(t *testing.T) stream.Stream {
		t.Helper()
		opened := open(t)
		closing(t, opened)
		return opened
	}
	for _, c := range []struct {
		name string
		test func(*suite, *testing.T)
	}{
		{"Empty", (*suite).empty},
		{"RoundTrip", (*suite).roundTrip},
		{"MemoryIsTheCallersAgain", (*suite).memory},
		{"Bounds", (*suite).bounds},
		{"LargestRecord", (*suite).largest},
		{"RefusedKeyIsNotPassed", (*suite).refusedKey},
		{"OrderByKey", (*suite).orderByKey},
		{"OneByOneFromMany", (*suite).oneByOne},
		{"ReadFromEveryPosition", (*suite).everyPosition},
		{"NextWaits", (*suite).nextWaits},
		{"NextEndsWithItsContext", (*suite).nextEnds},
		{"SeveralReaders", (*suite).severalReaders},
		{"AppendWithEndedContext", (*suite).appendEnded},
		{"AppendCanceledMidway", (*suite).appendMidway},
		{"Corrupt", (*suite).corrupt},
		{"Damaged", (*suite).damaged},
		{"Trim", (*suite).trim},
		{"Room", (*suite).capacity},
		{"Closed", (*suite).closed},
		{"CloseWhileAppending", (*suite).closeWhileAppending},
		{"Reopened", (*suite).reopened},
	} {
		if c.name == "Damaged" && s.damage == nil || c.name == "Reopened" && s.reopen == nil {
			continue // not what this adapter can do
		}
		t.Run(c.name, func(t *testing.T) { c.test(s, t) })
	}
}

func closing(t *testing.T, s stream.Stream) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// again closes a stream and opens it anew.
func (s *suite) again(t *testing.T, open stream.Stream) stream.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := open.Close(ctx); err != nil {
		t.Fatalf("close: %v", err)
	}
	opened := s.reopen(t, open)
	closing(t, opened)
	return opened
}

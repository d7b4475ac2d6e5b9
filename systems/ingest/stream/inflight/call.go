// Package inflight is shared by the adapters of remote streams. It tracks each
// record's state between its Append and the sink's response, and bounds the
// bytes in flight.
package inflight

import (
	"context"
	"sync"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Call is one call of Append. It is shared by Append itself, which may return
// before all records are settled, and by the goroutine that sends the records.
// Its methods may be called from many goroutines at once.
type Call struct {
	done chan struct{} // closed when no record is open any more

	mu        sync.Mutex // guards the following
	abandoned bool       // Append has returned, and results are the caller's
	results   []stream.Result
	states    []state
	keys      []string
	open      int
	failed    map[string]int // the first record that failed, by key
}

// state is a record's state.
type state uint8

const (
	queued  state = iota // surely not kept
	started              // may be kept
	settled              // its result is known
)

// NewCall returns a call with records, all of them queued.
func NewCall(records []stream.Record) *Call {
	c := &Call{
		done:    make(chan struct{}),
		results: make([]stream.Result, len(records)),
		states:  make([]state, len(records)),
		keys:    make([]string, len(records)),
		open:    len(records),
		failed:  map[string]int{},
	}
	for i := range records {
		c.keys[i] = records[i].Key
	}
	if len(records) == 0 {
		close(c.done)
	}
	return c
}

// Start marks record i as about to be sent. It returns false when the record
// must not be sent, because nobody waits for it any more or an earlier record
// of the same key in this call has failed. The record is settled then.
func (c *Call) Start(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, failed := c.failed[c.keys[i]]
	switch {
	case failed && first < i:
		c.lockedSettle(i, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "an earlier record of its key was not kept")})
	case c.abandoned:
		c.lockedSettle(i, stream.Result{})
	default:
		c.states[i] = started
		return true
	}
	return false
}

// Requeue marks a started record, which certainly was not stored, as queued
// again.
func (c *Call) Requeue(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states[i] = queued
}

// Settle sets the result of record i. It is called once for each.
func (c *Call) Settle(i int, r stream.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lockedSettle(i, r)
}

func (c *Call) lockedSettle(i int, r stream.Result) {
	c.states[i] = settled
	if key := c.keys[i]; r.Err != nil && key != "" {
		if first, ok := c.failed[key]; !ok || i < first {
			c.failed[key] = i
		}
	}
	if !c.abandoned {
		c.results[i] = r
	}
	if c.open--; c.open == 0 {
		close(c.done)
	}
}

// Wait returns the results when all are known, or when ctx or the timeout ends. What was then
// in flight has DeadlineExceeded or Canceled as its code.
func (c *Call) Wait(ctx context.Context, sink string, timeout time.Duration) []stream.Result {
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-c.done:
		return c.results
	case <-ctx.Done():
		err := stream.Ended(ctx, "append to "+sink)
		return c.abandon(err, err)
	case <-t.C:
		return c.abandon(
			whittle.Errorf(whittle.Unavailable, "%s took nothing within %v", sink, timeout),
			whittle.Errorf(whittle.DeadlineExceeded, "%s did not acknowledge within %v", sink, timeout))
	}
}

// abandon gives the results as they are, and to each record that is not settled an error.
func (c *Call) abandon(waiting, underWay error) []stream.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = true
	for i, s := range c.states {
		switch s {
		case queued:
			c.results[i].Err = waiting
		case started:
			c.results[i].Err = underWay
		case settled:
		}
	}
	return c.results
}

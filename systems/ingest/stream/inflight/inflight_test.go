package inflight

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

func keyed(keys ...string) []stream.Record {
	records := make([]stream.Record, len(keys))
	for i, k := range keys {
		records[i].Key = k
	}
	return records
}

func codes(results []stream.Result) string {
	var all []string
	for _, r := range results {
		if r.Err == nil {
			all = append(all, "ok")
		} else {
			all = append(all, whittle.CodeOf(r.Err).String())
		}
	}
	return strings.Join(all, " ")
}

var errRefused = whittle.Errorf(whittle.Invalid, "refused")

// A record that fails holds back the later ones of its key, and nothing else.
func TestNoRecordPasses(t *testing.T) {
	c := NewCall(keyed("a", "b", "a", "", "a", "b", ""))
	c.Settle(2, stream.Result{Err: errRefused})
	c.Settle(3, stream.Result{Err: errRefused})
	for i, want := range map[int]bool{0: true, 1: true, 4: false, 5: true, 6: true} {
		fatal.Same(t, c.Start(i), want, "Start(%d)", i)
	}
	for _, i := range []int{0, 1, 5, 6} {
		c.Settle(i, stream.Result{})
	}
	fatal.Same(t, codes(c.Wait(t.Context(), "sink", time.Hour)), "ok ok invalid_argument invalid_argument unavailable ok ok", "")
}

func TestWaitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, deadline time.Duration
		want              string
	}{
		"no more patience": {time.Second, time.Hour, "ok deadline_exceeded unavailable"},
		"context":          {time.Hour, time.Second, "ok deadline_exceeded deadline_exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				call := NewCall(keyed("a", "b", "c"))
				call.Start(0)
				call.Settle(0, stream.Result{})
				call.Start(1)
				results := call.Wait(ctx, "sink", c.timeout)
				fatal.Same(t, codes(results), c.want, "")
				// Whoever carries the rest goes on, and the results stay the caller's.
				call.Settle(1, stream.Result{Err: errRefused})
				if call.Start(2) {
					t.Error("a record is sent that nobody waits for")
				}
				fatal.Same(t, codes(results), c.want, "the results changed behind the caller's back")
			})
		})
	}
}

func TestBuffer(t *testing.T) {
	b := NewBuffer(100)
	if !b.Reserve(60) || b.Reserve(60) || !b.Reserve(40) {
		t.Error("100 bytes are not 60 and 40")
	}
	fatal.Same(t, b.Capacity(1).Free, 0, "free in a full buffer")
	b.Release(100)
	if !b.Reserve(1000) {
		t.Error("an empty buffer refuses a call that is larger than itself")
	}
	fatal.Same(t, b.Capacity(1).Free, 0, "free in an overfull buffer")
	b.Measure(1000, time.Second)
	fatal.Same(t, b.Capacity(3).Rate, 3000, "rate of three streams of 1000 bytes/s")
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBuffer(100)
		var down atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		go b.Probe(ctx, "sink", func(context.Context) error {
			if down.Load() {
				return errors.New("gone")
			}
			return nil
		})
		step := func(want bool, when string) {
			time.Sleep(probeEvery)
			synctest.Wait()
			if err := b.Capacity(1).Err; (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		step(true, "it responds")
		down.Store(true)
		step(false, "it does not respond")
		b.Acknowledged()
		if b.Capacity(1).Err != nil {
			t.Error("down, though it acknowledged")
		}
		step(false, "it still does not respond")
		down.Store(false)
		step(true, "it responds again")
		cancel()
		synctest.Wait()
	})
}

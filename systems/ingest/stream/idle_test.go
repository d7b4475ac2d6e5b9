package stream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// scripted returns one step of its script for each response; at its end it hangs.
type scripted struct {
	script    []step
	responses int64
	tip       bool
}

type step struct {
	after   time.Duration
	entries int
	tip     bool
	err     error
}

func (r *scripted) Next(ctx context.Context, into []Entry) (int, error) {
	for len(r.script) > 0 {
		s := &r.script[0]
		timer := time.NewTimer(s.after)
		defer timer.Stop()
		began := time.Now()
		select {
		case <-ctx.Done():
			s.after -= time.Since(began)
			return 0, ctx.Err()
		case <-timer.C:
		}
		one := *s
		r.script = r.script[1:]
		r.responses++
		r.tip = one.tip
		if one.err != nil || one.entries > 0 {
			return min(one.entries, len(into)), one.err
		}
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

func (r *scripted) Close() error { return nil }

// telling tells the tip as well.
type telling struct{ scripted }

func (r *telling) Tip() (int64, bool) { return r.responses, r.tip }

// TestWhatSilenceMeans: of a reader that can tell the tip silence is the end where
// it reported it, and never because nothing was acknowledged.
func TestWhatSilenceMeans(t *testing.T) {
	const idleTimeout = 10 * time.Second
	corrupt := &CorruptError{Reason: "a flipped bit"}
	for name, tc := range map[string]struct {
		hasTip bool
		script []step
		n      int
		is     error        // errors.Is
		code   whittle.Code // of another error
		took   time.Duration
	}{
		"silence":                                    {script: nil, is: ErrIdle, took: idleTimeout},
		"a record in time":                           {script: []step{{after: idleTimeout - 1, entries: 2}}, n: 2, took: idleTimeout - 1},
		"a record too late":                          {script: []step{{after: idleTimeout + 1, entries: 2}}, is: ErrIdle, took: idleTimeout},
		"what is corrupt":                            {script: []step{{err: corrupt}}, is: corrupt},
		"an error":                                   {script: []step{{err: ErrEnded}}, is: ErrEnded},
		"reports its tip,  the tip":                  {hasTip: true, script: []step{{tip: true}}, is: ErrIdle, took: idleTimeout},
		"reports its tip,  a read that hangs":        {hasTip: true, script: nil, code: whittle.Unavailable, took: 3 * idleTimeout},
		"reports its tip,  hangs behind the tip":     {hasTip: true, script: []step{{tip: true, entries: 1}}, n: 1},
		"reports its tip,  a slow record":            {hasTip: true, script: []step{{after: 2*idleTimeout + 1, entries: 1}}, n: 1, took: 2*idleTimeout + 1},
		"reports its tip,  behind, then a record":    {hasTip: true, script: []step{{}, {after: idleTimeout + 1}, {after: idleTimeout + 1, entries: 3}}, n: 3, took: 2*idleTimeout + 2},
		"reports its tip,  behind, then the tip":     {hasTip: true, script: []step{{}, {after: idleTimeout + 1, tip: true}}, is: ErrIdle, took: 2 * idleTimeout},
		"reports its tip,  behind, then a hung read": {hasTip: true, script: []step{{}}, code: whittle.Unavailable, took: 4 * idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Reader = &scripted{script: tc.script}
				if tc.hasTip {
					r = &telling{scripted{script: tc.script}}
				}
				began := time.Now()
				n, err := NextBefore(t.Context(), r, make([]Entry, 8), idleTimeout)
				took := time.Since(began)
				switch {
				case n != tc.n, took != tc.took:
					t.Errorf("%d entries after %s, want %d after %s: %v", n, took, tc.n, tc.took, err)
				case tc.code != 0 && (whittle.CodeOf(err) != tc.code || errors.Is(err, ErrIdle)), tc.code == 0 && !errors.Is(err, tc.is):
					t.Errorf("%v", err)
				}
			})
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NextBefore(ended, &telling{}, make([]Entry, 8), time.Second); !errors.Is(err, context.Canceled) || errors.Is(err, ErrIdle) {
		t.Errorf("the caller's own end: %v", err)
	}
}

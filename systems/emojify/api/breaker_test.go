package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
)

func TestBreakerRestsAndProbes(t *testing.T) {
	var b breaker
	now := time.Unix(1_800_000_000, 0)
	allowed := func(want bool) (probe int) {
		t.Helper()
		ok, probe, wait := b.allow(now)
		if ok != want || !ok && wait <= 0 {
			t.Fatalf("allowed = %v, wait %v, want %v", ok, wait, want)
		}
		return probe
	}
	for range 3 { // a success in between starts the count again
		for range tripAfter - 1 {
			allowed(true)
			b.report(0, true, now)
		}
		allowed(true)
		b.report(0, false, now)
	}
	for range tripAfter {
		allowed(true)
	}
	for range tripAfter + 3 { // more were under way than it takes
		b.report(0, true, now)
	}
	for rest := firstOpen; rest < 2*maxOpen; rest *= 2 {
		now = now.Add(min(rest, maxOpen) - 1)
		allowed(false)
		now = now.Add(1)
		probe := allowed(true)
		allowed(false) // one probe at a time
		b.forget(0)    // a call of before
		b.report(0, true, now)
		allowed(false) // the probe is still on its way
		b.forget(probe)
		again := allowed(true)
		b.forget(probe)
		b.report(probe, true, now)
		allowed(false)
		b.report(again, true, now)
	}
	now = now.Add(maxOpen)
	b.report(allowed(true), false, now)
	if b.open() {
		t.Error("open after a probe that went well")
	}
	for range tripAfter {
		b.report(allowed(true), true, now)
	}
	allowed(false)
	now = now.Add(firstOpen) // the first rest again
	allowed(true)
}

func TestBudgetIsATenth(t *testing.T) {
	var b budget
	spent := 0
	for range 1000 {
		b.earn()
		if b.spend() {
			spent++
		}
	}
	if spent < 100 || spent > 100+maxRetries {
		t.Errorf("%d retries of 1000 calls, want 100 and what was saved up", spent)
	}
}

func testUpstream(c Calls) *upstream {
	r := prometheus.NewRegistry()
	return newUpstream("cache", c, &Options{now: time.Now, random: rand.New(rand.NewPCG(1, 2)).Float64}, newMetrics(r), r)
}

var unavailable = whittle.Errorf(whittle.Unavailable, "away")

func TestWhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		errs  []error // of each attempt; the last one stays
		tries int
		code  whittle.Code // -1: success
	}{
		{[]error{nil}, 1, -1},
		{[]error{unavailable, nil}, 2, -1},
		{[]error{unavailable, unavailable, nil}, 3, -1},
		{[]error{unavailable}, 3, whittle.Unavailable},
		{[]error{whittle.Errorf(whittle.NotFound, "none")}, 1, whittle.NotFound},
		{[]error{whittle.Errorf(whittle.Invalid, "bad")}, 1, whittle.Invalid},
		{[]error{errors.New("a defect")}, 1, whittle.Internal},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := testUpstream(Calls{}).do(t.Context(), func(context.Context) error {
				tries++
				return c.errs[min(tries, len(c.errs))-1]
			})
			if tries != c.tries || (err == nil) != (c.code < 0) || err != nil && whittle.CodeOf(err) != c.code {
				t.Errorf("%v: %d tries, %v, want %d and %v", c.errs, tries, err, c.tries, c.code)
			}
		})
	}
}

func TestHangingAttemptEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, begun, tries := testUpstream(Calls{Timeout: time.Second}), time.Now(), 0
		hang := func(ctx context.Context) error {
			tries++
			<-ctx.Done()
			return ctx.Err()
		}
		err := u.do(t.Context(), hang)
		if took := time.Since(begun); whittle.CodeOf(err) != whittle.DeadlineExceeded || tries != 3 || took > 4*time.Second {
			t.Errorf("%v after %d tries in %v", err, tries, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := u.do(ctx, hang); whittle.CodeOf(err) != whittle.DeadlineExceeded || tries != 4 {
			t.Errorf("asker in a hurry: %v after %d tries", err, tries-3)
		}
	})
}

func TestUpstreamThatIsDownCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, tries := testUpstream(Calls{}), 0
		for range 100 {
			err := u.do(t.Context(), func(context.Context) error { tries++; return unavailable })
			if whittle.CodeOf(err) != whittle.Unavailable {
				t.Fatal(err)
			}
		}
		if tries > tripAfter {
			t.Errorf("%d attempts, want %d and then none", tries, tripAfter)
		}
		rest, ok := errors.AsType[*breakerOpenError](u.do(t.Context(), func(context.Context) error { return nil }))
		if !ok || rest.wait > firstOpen {
			t.Errorf("resting = %+v, %v", rest, ok)
		}
		time.Sleep(firstOpen) // of the bubble's clock
		if err := u.do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("after the rest: %v", err)
		}
	})
}

func TestFaultsAreAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := testUpstream(Calls{Attempts: 1, FailShare: 0.2, Delay: 100 * time.Millisecond})
		begun, made, failed := time.Now(), 0, 0
		for range 1000 {
			if u.faulty(t.Context(), func(context.Context) error { made++; return nil }) != nil {
				failed++
			}
		}
		if took := time.Since(begun); made+failed != 1000 || failed < 150 || failed > 250 || took != 100*time.Second {
			t.Errorf("%d made and %d failed in %v", made, failed, took)
		}
	})
}

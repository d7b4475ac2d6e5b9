package noise

import (
	"fmt"
	"math"
	"testing"

	"whittle/carve/compare/eprocess"
	"whittle/internal/fatal"
)

// TestBeyond: a candidate may change what is noise as often as the monolith and in
// Slack of the responses more, or twice as often, whichever is more.
func TestBeyond(t *testing.T) {
	for _, c := range []struct{ candidate, monolith, want float64 }{
		{0.5, 0.5, -0.48}, {0.05, 0, 0.05}, {0.01, 0.01, 0}, {0.03, 0.01, 0.02}, {1, 0.5, 0.02}, {0.9, 0.5, -0.08}, {0.06, 0.04, 0}, {0.05, 0.02, 0.03},
	} {
		got := Beyond(c.candidate, c.monolith)
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v of the candidate's and %v of the monolith's: %v, want %v", c.candidate, c.monolith, got, c.want)
		}
		allowed := c.candidate <= c.monolith+Slack+1e-12 || c.candidate <= noiseFactor*c.monolith+1e-12
		if (got <= Slack+1e-12) != allowed {
			t.Errorf("%v and %v: within %v, allowed %v", c.candidate, c.monolith, got <= Slack, allowed)
		}
	}
}

// changed is a difference in so many of n exchanges, and in so many of the repeats.
func changed(candidate, n, monolith, repeats int) Changed {
	return Changed{Candidate: eprocess.Share{N: n, Differing: candidate}, Monolith: eprocess.Share{N: repeats, Differing: monolith}}
}

// TestAsBound: what is shown is never below 0, and inside just up to the margin.
func TestAsBound(t *testing.T) {
	c := changed(30, 1000, 10, 100)
	for excess, inside := range map[float64]bool{-1: true, 0: true, Slack: true, math.Nextafter(Slack, 1): false, 0.5: false} {
		c.Path, c.Excess = "$.at", excess
		b := c.AsBound("noise", 0.01)
		if b.Inside != inside || b.MarginHigh != Slack || b.High != max(0, excess) || b.Estimate != max(0, c.Beyond()) || b.What != "noise" {
			t.Errorf("an excess of %v: %+v", excess, b)
		}
		fatal.Has(t, b.Summary, "$.at differs in 3", "in 10", "(99")
	}
}

// TestLeft: so many exchanges more at the same rates bring the bound to the margin; none where it is
// there, and none ever where the rates are too far apart or nothing was repeated.
func TestLeft(t *testing.T) {
	c := changed(10, 200, 8, 200)
	c.Bound(0.01)
	times := float64(200+c.Left(0.01)+1) / 200
	then := Changed{Candidate: c.Candidate.Grown(times), Monolith: c.Monolith.Grown(times)}
	if then.Bound(0.01); c.Excess <= Slack || then.Excess > Slack+1e-3 {
		t.Errorf("%+v: %.1f times as many bring it to %v", c, times, then.Excess)
	}
	for _, c := range []Changed{changed(50, 100, 0, 100), changed(1, 100, 0, 0), changed(0, 0, 1, 100)} {
		c.Bound(0.01)
		fatal.Same(t, c.Left(0.01), -1, "%+v: more", c)
	}
	at := changed(0, 5, 0, 5)
	at.Excess = Slack
	fatal.Same(t, at.Left(0.01), 0, "more for an excess at the margin")
}

// TestOwnStates: a key at which each server has a state of its own is learned, once.
func TestOwnStates(t *testing.T) {
	n, k := New(), Key{"$.a", "value"}
	for range 2 {
		if n.LearnOwn(k); !n.Learnt[k] || !n.Own[k] || n.Version != 2 {
			t.Errorf("%+v", n)
		}
	}
}

// TestLearned: each place is learned once, no more than the bound of them are, and what
// another one knows is added.
func TestLearned(t *testing.T) {
	n := New()
	if !n.Learn(Key{"$.a", "value"}) || n.Learn(Key{"$.a", "value"}) || !n.Learn(Key{"$.a", "order"}) || n.Version != 2 {
		t.Errorf("%+v", n)
	}
	other := New()
	other.Learn(Key{"$.a", "value"})
	other.Learn(Key{"$.b", "value"})
	n.N, n.Repeats, n.Self[Key{"$.a", "value"}] = 10, 4, 3
	other.N, other.Repeats, other.Self[Key{"$.a", "value"}], other.Self[Key{"$.b", "value"}] = 5, 2, 1, 2
	n.Join(other)
	if len(n.Learnt) != 3 || n.Version != 3 || n.N != 15 || n.Repeats != 6 || n.Self[Key{"$.a", "value"}] != 4 || n.Self[Key{"$.b", "value"}] != 2 {
		t.Errorf("%+v", n)
	}
	for i := range 2 * Most {
		learned := n.Learn(Key{fmt.Sprint("$.", i), "value"})
		if want := i < Most-3; learned != want {
			t.Fatalf("place %d is learned: %v", i+3, learned)
		}
	}
	if len(n.Learnt) != Most || n.Version != Most {
		t.Errorf("%d places, version %d", len(n.Learnt), n.Version)
	}
}

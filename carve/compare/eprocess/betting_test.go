package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A bettor's wealth has expectation exactly 1 after any number of fair rounds: the mean over all
// 2^12 outcomes, weighted by their chance, is 1, of events of a given share, of e-values and of
// payoffs. This is what makes the wealth a martingale and Ville's inequality apply.
func TestEValuesKeepTheirExpectation(t *testing.T) {
	const rounds = 12
	see := map[string]func(b *Bets, event bool, p float64){
		"share":  func(b *Bets, event bool, p float64) { b.SeeShare(event, p, 1e-12, 1) },
		"e":      func(b *Bets, event bool, p float64) { b.See(Indicator(event)/p, 1e-12, 1) },
		"payoff": func(b *Bets, event bool, p float64) { b.Bet((Indicator(event)-p)/max(p, 1-p), 1e-12, 1) },
		"half":   func(b *Bets, event bool, p float64) { b.See(0.5+0.5*Indicator(event)/p, 1e-12, 1) },
	}
	for name, see := range see {
		for _, first := range []Bets{Steady.New(), Bold.New(), Late.New()} {
			for _, p := range []float64{0.001, 0.01, 1. / 256, 0.05, 0.5} {
				sum := 0.0
				for outcome := range 1 << rounds {
					b, chance := first, 1.0
					for i := range rounds {
						event := outcome>>i&1 == 1
						if event {
							chance *= p
						} else {
							chance *= 1 - p
						}
						see(&b, event, p)
					}
					sum += chance * b.Now
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Errorf("%s, p = %v: the mean wealth is %v, want 1", name, p, sum)
				}
			}
		}
	}
}

func TestBetsStayFloats(t *testing.T) {
	for _, g := range []float64{1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300} {
		b := NewBets()
		for i := range 100_000 {
			b.Bet(g, 0.01, i+1)
		}
		if !isFinite(&b) || math.IsNaN(b.EValue()) || b.EValue() > EValueCap {
			t.Errorf("payoff %v: wealth %v, e-value %v", g, b.Now, b.EValue())
		}
	}
	b := NewBets()
	for i := range 100_000 {
		b.SeeShare(i%2 == 0, 0, 0.01, i+1)
	}
	if !isFinite(&b) || math.IsInf(b.Peak, 0) {
		t.Error("a share of 0 with events left the floats")
	}
}

// A plain effect is shown within a dozen rounds, and one that comes after
// 10,000 fair rounds within a hundred: the part of the wealth that was kept
// back is still there to be staked.
func TestALateEffectIsStillShown(t *testing.T) {
	for _, of := range []struct {
		style Style
		fair  int
	}{{Steady, 0}, {Steady, 10_000}, {Bold, 0}, {Bold, 10_000}} {
		b, fair := of.style.New(), of.fair
		r := rand.New(rand.NewPCG(1, 2))
		for i := range fair {
			b.Bet(float64(2*r.IntN(2)-1), 0.001, i+1)
		}
		n := 0
		for ; !b.Decided() && n < 1_000; n++ {
			b.Bet(1, 0.001, fair+n+1)
		}
		if most := 14 + fair/100; n > most {
			t.Errorf("style %d: after %d fair rounds it took %d, want at most %d", of.style, fair, n, most)
		}
	}
}

// TestVoid: what was won is taken back and what was lost is not, so that a bettor who
// goes on has no more than one who never won.
func TestVoid(t *testing.T) {
	for _, g := range []float64{1, -1} {
		for _, style := range []Style{Steady, Bold, Late} {
			b := style.New()
			for range 20 {
				b.See(1+0.9*g, 0.01, 5)
			}
			low := min(1, b.Now)
			b.Void()
			if b.Decided() || math.Abs(b.Now-low) > 1e-9 || b.EValue() != 1 || !isFinite(&b) {
				t.Errorf("payoffs of %v: %+v, want a wealth of %v", g, b, low)
			}
		}
	}
}

// isFinite reports whether a wealth is a number that can be kept.
func isFinite(b *Bets) bool { return b.Now >= 0 && b.Now <= b.Peak && !math.IsInf(b.Peak, 0) }

// TestAShareOfOneAllowsEverything: where every event is allowed, events show nothing.
func TestAShareOfOneAllowsEverything(t *testing.T) {
	for _, p := range []float64{1, 1.001, 2} {
		b := NewBets()
		for n := range 20_000 {
			b.SeeShare(true, p, 0.001, n+1)
		}
		if b.At != 0 || b.EValue() > 1 {
			t.Errorf("%v: shown at %d, evidence %v", p, b.At, b.EValue())
		}
	}
}

// TestABigEValueCounts: a big one is worth nearly itself at once to the bold, and one of 0 leaves a part of the
// wealth to go on with.
func TestABigEValueCounts(t *testing.T) {
	b := Bold.New()
	if b.See(1000, 0.01, 3); b.Now < 700 || b.At != 3 {
		t.Errorf("an e-value of 1000 makes a wealth of %v, decided at %d", b.Now, b.At)
	}
	b = Bold.New()
	if b.See(0, 0.01, 1); b.Now < 0.2 || b.Now > 0.25 {
		t.Errorf("after an e-value of 0 the wealth is %v", b.Now)
	}
}

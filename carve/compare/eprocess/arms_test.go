package eprocess

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within*max(1, math.Abs(b)) }

// TestAlternatives: each arm bets on a rate above the limit, and the last on nearly
// all that is left above it. A rate beyond 0.95 is no arm's but the last's.
func TestAlternatives(t *testing.T) {
	for limit, want := range map[float64][armCount]float64{
		0.01: {0.013, 0.02, 0.015, 0.03, 0.07, 0.21, 0.51, 0.01 + 0.95*0.99},
		0.45: {0.585, 0.9, 0.455, 0.47, 0.51, 0.65, 0.95, 0.45 + 0.95*0.55},
		0.9:  {0.995, 0.995, 0.905, 0.92, 0.995, 0.995, 0.995, 0.995},
	} {
		for i := range armCount {
			if got := alternative(i, limit); !near(got, want[i], 1e-12) {
				t.Errorf("limit %v, arm %d: %v, not %v", limit, i, got, want[i])
			}
		}
	}
}

// TestSingleLosesNothing: at the limit itself each arm's bet is fair to the last bit,
// and where an arm's own alternative is true its wealth grows by the divergence
// between the two, which is the best that any bet can do.
func TestSingleLosesNothing(t *testing.T) {
	for _, limit := range []float64{1e-6, 0.001, 0.05, 0.5, 0.94} {
		var bad, good Arms
		bad.Single(limit, 1, 0)
		good.Single(limit, 0, 1)
		for i := range bad {
			if e := limit*math.Exp(bad[i]) + (1-limit)*math.Exp(good[i]); !near(e, 1, 1e-12) {
				t.Errorf("limit %v, arm %d: expectation %v", limit, i, e)
			}
			p := alternative(i, limit)
			best := p*math.Log(p/limit) + (1-p)*math.Log((1-p)/(1-limit))
			if got := p*bad[i] + (1-p)*good[i]; !near(got, best, 1e-12) || got <= 0 {
				t.Errorf("limit %v, arm %d: grows by %v, not %v", limit, i, got, best)
			}
		}
	}
}

// TestSinglesAddUp: a count is so many single responses, odds that are kept are those
// of their limit, and at every limit, 0 and 1 included, the wealth stays a number.
func TestSinglesAddUp(t *testing.T) {
	var kept FixedOdds
	for _, limit := range []float64{0, 0.02, 0.02, 1, 0.3, 0.02, -1, 2} {
		var together, apart, others Arms
		together.Single(limit, 3, 5)
		for range 3 {
			apart.Against(kept.At(limit), 1, 0)
		}
		for range 5 {
			apart.Against(kept.At(limit), 0, 1)
		}
		others.Single(limit, 1, 2)
		two := others
		two.Single(limit, 2, 3)
		rest := Arms{}
		rest.Single(limit, 2, 3)
		others.Add(&rest)
		if !together.Valid() {
			t.Errorf("limit %v: %v", limit, together)
		}
		for i := range together {
			if !near(apart[i], together[i], 1e-12) || !near(two[i], together[i], 1e-12) || !near(others[i], together[i], 1e-12) {
				t.Errorf("limit %v, arm %d: %v, %v, %v; together %v", limit, i, apart[i], two[i], others[i], together[i])
			}
		}
	}
}

// TestOddsAreAProjection holds a block's odds to what makes them fair: they are the
// ratios of the guess to p and of an alternative to p+slack, where p is the rate
// between them that comes nearest to both, by the divergence of all responses. An
// alternative that the hypothesis allows has none.
func TestOddsAreAProjection(t *testing.T) {
	for _, c := range []struct {
		guess, slack float64
		m, c         int
	}{{0.001, 0, 10, 10}, {0.001, 0.01, 64, 3}, {0.2, 0.002, 1, 30}, {0.9, 0.05, 7, 7}, {0.9, 0.09, 3, 9}, {0.9, 0.2, 20, 5}, {0.3, 0.9, 1, 1}, {1e-4, 0.2, 50, 50}} {
		o := NewOdds(c.guess, c.slack, c.m, c.c)
		limit := min(c.guess+c.slack, 0.98)
		for i, f := range o.factors {
			v := alternative(i, limit)
			if none := f == [4]float64{}; none != (v <= c.guess+c.slack) {
				t.Errorf("%+v, arm %d: bets on %v: %v", c, i, v, !none)
			} else if none {
				continue
			}
			p := c.guess / math.Exp(f[0])
			if !near((1-c.guess)/math.Exp(f[1]), 1-p, 1e-9) {
				t.Errorf("%+v, arm %d: the monolith's odds are of no one rate", c, i)
			}
			if q := v / math.Exp(f[2]); !near(q, p+c.slack, 1e-9) || !near((1-v)/math.Exp(f[3]), 1-q, 1e-9) {
				t.Errorf("%+v, arm %d: the candidate's odds are of %v, not of %v", c, i, q, p+c.slack)
			}
			far := func(p float64) float64 {
				kl := func(a, b float64) float64 { return a*math.Log(a/b) + (1-a)*math.Log((1-a)/(1-b)) }
				return float64(c.m)*kl(c.guess, p) + float64(c.c)*kl(v, p+c.slack)
			}
			low, high := c.guess, v-c.slack
			if p < low-1e-9 || p > high+1e-9 {
				t.Errorf("%+v, arm %d: %v is not within %v and %v", c, i, p, low, high)
			}
			for step := range 101 {
				if at := low + (high-low)*float64(step)/100; far(at) < far(p)-1e-9 {
					t.Errorf("%+v, arm %d: %v is farther than %v", c, i, p, at)
				}
			}
		}
	}
}

// TestBlocksAddUp: a block's evidence is that of each of its responses, of either side
// and either kind.
func TestBlocksAddUp(t *testing.T) {
	o := NewOdds(0.01, 0.002, 12, 8)
	counts := [4]int{2, 10, 3, 5}
	var a Arms
	a.Block(o, counts[0], counts[1], counts[2], counts[3])
	a.Block(o, 1, 0, 0, 0)
	for i := range a {
		want := o.factors[i][0]
		for kind, n := range counts {
			for range n {
				want += o.factors[i][kind]
			}
		}
		if !near(a[i], want, 1e-12) || want == 0 {
			t.Errorf("arm %d: %v, one by one %v", i, a[i], want)
		}
	}
}

// TestOddsBook: a book gives the odds of the rounded guess, finds them again, and
// stays within its bound.
func TestOddsBook(t *testing.T) {
	b := OddsBook{}
	first := b.Find(0.0123, 0.01, 5, 6)
	if *first != *NewOdds(RoundRate(0.0123), 0.01, 5, 6) || b.Find(0.0123, 0.01, 5, 6) != first {
		t.Error("the book's odds are not those of its guess")
	}
	if other := b.Find(0.0123, 0.01, 6, 5); other == first {
		t.Error("blocks of another size have the same odds")
	}
	most := 0
	for m := range 2*maxOdds + 10 {
		b.Find(0.01, 0.01, m+10, 1)
		most = max(most, len(b))
	}
	if most != maxOdds {
		t.Errorf("%d odds are kept, not %d", most, maxOdds)
	}
}

// TestRoundRate: a rounded guess is within an eighth of an octave of the guess, is
// its own rounding, and stays within its bounds.
func TestRoundRate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	seen := map[float64]bool{}
	for range 1000 {
		p := math.Exp(-11 * r.Float64())
		got := RoundRate(p)
		seen[got] = true
		if bounded := min(max(p, 1e-4), 0.9); math.Abs(math.Log2(got/bounded)) > 0.125+1e-9 || got < 1e-4 || got > 0.9 || !near(RoundRate(got), got, 1e-12) {
			t.Errorf("%v is rounded to %v, and that to %v", p, got, RoundRate(got))
		}
	}
	if len(seen) < 50 || len(seen) > 56 { // 13.1 octaves between the bounds
		t.Errorf("%d rounded guesses", len(seen))
	}
}

// TestLogEValue: the evidence is the average wealth, also beyond what a float holds.
func TestLogEValue(t *testing.T) {
	for _, c := range []struct {
		arms Arms
		want float64
	}{
		{Arms{}, 0},
		{Arms{2, 2, 2, 2, 2, 2, 2, 2}, 2},
		{Arms{0, 1, 2, 3, 4, 5, 6, 7}, math.Log((math.Exp(8) - 1) / (math.E - 1) / armCount)},
		{Arms{-900, -900, -900, 1000, -900, -900, -900, -900}, 1000 - math.Log(armCount)},
		{Arms{5000, -5000}, 5000 - math.Log(armCount)},
		{Arms{-5000, -5000, -5000, -5000, -5000, -5000, -5000, -5000}, -5000},
	} {
		if got := c.arms.LogEValue(); !near(got, c.want, 1e-12) {
			t.Errorf("%v: %v, not %v", c.arms, got, c.want)
		}
		slices.Reverse(c.arms[:])
		if got := c.arms.LogEValue(); !near(got, c.want, 1e-12) {
			t.Errorf("%v: %v, not %v", c.arms, got, c.want)
		}
	}
	for _, l := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if a := (Arms{7: l}); a.Valid() {
			t.Errorf("%v is a wealth", l)
		}
	}
	if a := (Arms{-1e9, 1e9}); !a.Valid() {
		t.Error("a finite wealth is none")
	}
}

// TestStakedKeepsItsWealth: where no bet wins or loses, what is staked and what is
// kept add up to the first wealth at all times.
func TestStakedKeepsItsWealth(t *testing.T) {
	var s Staked
	for n := range 3000 {
		if got := s.LogEValue(); !near(got, 0, 1e-12) || s.Plays != n {
			t.Fatalf("after %d of %d plays: a wealth of e^%v", n, s.Plays, got)
		}
		before := s.Arms[3]
		s.Play(func(*Arms) {})
		if staked := s.Arms[3] > before; staked != (s.Plays >= 2*stakeEvery && s.Plays%stakeEvery == 0 || s.Plays == stakeEvery) {
			t.Fatalf("play %d: fresh stake %v", s.Plays, staked)
		}
	}
	s.Play(func(a *Arms) { a.Single(0.01, 1000, 0) })
	if got := s.LogEValue(); got < 100 {
		t.Errorf("after a thousand bad responses the wealth is e^%v", got)
	}
	again := Staked{Arms: s.Arms, Plays: s.Plays} // as restored
	if got := again.LogEValue(); got != s.LogEValue() || again.LogEValue() != got {
		t.Errorf("restored: e^%v, not e^%v", got, s.LogEValue())
	}
}

// TestStakedWakes: a candidate that breaks after a long good past is found by a wealth
// that has lost no more than about the logarithm of that past.
func TestStakedWakes(t *testing.T) {
	bad := func(a *Arms) { a.Single(0.01, 1, 0) }
	var fresh, late Staked
	for range 20_000 {
		late.Play(func(a *Arms) { a.Single(0.01, 0, 1) })
	}
	need := func(s *Staked) (n int) {
		for ; s.LogEValue() < 20; n++ {
			s.Play(bad)
		}
		return n
	}
	if soon, then := need(&fresh), need(&late); then > soon+2*stakeEvery {
		t.Errorf("%d bad responses after a good past, %d at once", then, soon)
	}
}

func TestLogSum(t *testing.T) {
	for _, c := range [][3]float64{{0, 0, math.Ln2}, {1, 3, math.Log(math.E + math.Exp(3))}, {-800, 0, 0}, {1e6, 1e6, 1e6 + math.Ln2}} {
		if !near(LogSum(c[0], c[1]), c[2], 1e-12) || LogSum(c[0], c[1]) != LogSum(c[1], c[0]) {
			t.Errorf("%v and %v: %v, not %v", c[0], c[1], LogSum(c[0], c[1]), c[2])
		}
	}
	if AsNumber(0) != 1 || AsNumber(1e9) != MaxEValue || AsNumber(math.Inf(1)) != MaxEValue || !near(AsNumber(690), math.Exp(690), 1e-12) {
		t.Error("an e-value is not shown as what it is")
	}
}

// TestMostIsAboveTheEValue: what the e-value cannot exceed is the best arm's wealth, and
// never less than the first one.
func TestMostIsAboveTheEValue(t *testing.T) {
	for best, arms := range map[float64]Arms{0: {-1, -5, -2, -1, -1, -1, -1, -1}, 3: {0, -2, 3, 1}, 1: {7: 1}, 2: {2, 1, 1, 1, 1, 1, 1, 1.5}} {
		s := Staked{Arms: arms, Plays: 40}
		if got := s.Most(); !near(got, math.Exp(best), 1e-12) || got < AsNumber(s.LogEValue()) {
			t.Errorf("%v: %v, and the e-value is %v", arms, got, AsNumber(s.LogEValue()))
		}
	}
	var s Staked
	for n := range 200 {
		s.Play(func(a *Arms) { a.Single(0.1, n/50%2, 1-n/50%2) })
		if s.Most() < AsNumber(s.LogEValue())*(1-1e-12) {
			t.Fatalf("after %d plays: %v, and the e-value is %v", n+1, s.Most(), AsNumber(s.LogEValue()))
		}
	}
}

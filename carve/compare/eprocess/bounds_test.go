package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// choose is the logarithm of n over k.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// TestMixturesAreChances: what the confidence sequences put in the place of a
// likelihood is one: over all outcomes it adds up to 1, and a single event has the
// prior's mean as its chance.
func TestMixturesAreChances(t *testing.T) {
	for _, n := range []int{1, 2, 7, 60} {
		beta, share := 0.0, 0.0
		for k := range n + 1 {
			beta += math.Exp(choose(n, k) + LogChance(k, n, 0.5, 20))
			s := Share{N: n, Differing: k, b: 125}
			share += math.Exp(choose(n, k) + s.logMixture())
		}
		if !near(beta, 1, 1e-9) || !near(share, 1, 1e-9) {
			t.Errorf("%d rounds: chances of %v and %v in all", n, beta, share)
		}
	}
	if got := math.Exp(LogChance(1, 1, 0.5, 20)); !near(got, 0.5/20.5, 1e-12) {
		t.Errorf("one event has a chance of %v", got)
	}
	for aim, b := range map[float64]float64{0.002: 125, 1: 0.25, 5: 0.25, 0: 1e5, 1e-9: 1e5, 1e-5: 25_000} {
		s := NewShare(aim)
		s.N, s.Differing = 1, 1
		if got := math.Exp(s.logMixture()); !near(s.b, b, 1e-9) || !near(got, 0.9*0.25/(0.25+b)+0.1*0.5, 1e-9) {
			t.Errorf("aim %v: a prior of %v, and a chance of %v", aim, s.b, got)
		}
	}
}

// TestShareEdges: the ends of an interval are where the likelihood has fallen to alpha
// of the mixture's, the rates between them are not rejected and those beyond are, and
// no rate of 0 or 1 breaks the logarithm.
func TestShareEdges(t *testing.T) {
	for _, c := range [][2]int{{10, 0}, {10, 10}, {1000, 3}, {1000, 997}, {50, 25}, {1, 0}, {1, 1}} {
		s := Share{N: c[0], Differing: c[1], b: 125}
		low, high := s.Interval(0.01)
		n, k := float64(c[0]), float64(c[1])
		level := func(p float64) float64 { // log(mixture / likelihood)
			return s.logMixture() - k*math.Log(p) - (n-k)*math.Log1p(-p)
		}
		if c[1] > 0 && !near(level(low), math.Log(100), 1e-6) || c[1] < c[0] && !near(level(high), math.Log(100), 1e-6) {
			t.Errorf("%d of %d: %v to %v", c[1], c[0], low, high)
		}
		if (c[1] == 0) != (low == 0) || (c[1] == c[0]) != (high == 1) {
			t.Errorf("%d of %d: %v to %v", c[1], c[0], low, high)
		}
		mid := (low + high) / 2
		for p, want := range map[float64]bool{low * 0.99: c[1] > 0, mid: false, 1 - (1-high)*0.99: c[1] < c[0], 0: c[1] > 0, 1: c[1] < c[0]} {
			if s.Rejects(p, 0.01) != want {
				t.Errorf("%d of %d: %v rejected %v", c[1], c[0], p, !want)
			}
		}
	}
}

// TestLikelihoodOfTheCertain: what happens always has a likelihood of 1 at a rate of 1,
// and what never happens at a rate of 0.
func TestLikelihoodOfTheCertain(t *testing.T) {
	never, always := Share{N: 10}, Share{N: 10, Differing: 10}
	if never.logLikelihood(0) != 0 || always.logLikelihood(1) != 0 || !math.IsInf(never.logLikelihood(1), -1) || !math.IsInf(always.logLikelihood(0), -1) {
		t.Errorf("%v, %v; %v, %v", never.logLikelihood(0), always.logLikelihood(1), never.logLikelihood(1), always.logLikelihood(0))
	}
}

// TestRejectsAtTheLevel: evidence of exactly 1/alpha rejects a rate.
func TestRejectsAtTheLevel(t *testing.T) {
	tried := 0
	for n := 20; n < 400; n++ {
		s := Share{N: n, b: 125}
		mixture, likelihood := s.logMixture(), s.logLikelihood(0.3)
		alpha := math.Exp(likelihood - mixture)
		if mixture-math.Log(1/alpha) != likelihood {
			continue // rounded away from the level
		}
		if tried++; !s.Rejects(0.3, alpha) || s.Rejects(0.3, alpha*0.999) {
			t.Errorf("0 of %d: rejected at the level %v, below it %v", n, s.Rejects(0.3, alpha), s.Rejects(0.3, alpha*0.999))
		}
	}
	if tried == 0 {
		t.Error("no evidence is exactly at a level")
	}
}

// TestMoreUntilIsTheFirst: after so many more responses at the same rate the limit is
// rejected, and after one fewer it is not.
func TestMoreUntilIsTheFirst(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		limit float64
	}{{0, 0, 0.5}, {0, 0, 0.002}, {500, 0, 0.002}, {1000, 2, 0.01}, {20_000, 20, 0.002}, {3, 1, 0.5}} {
		s := Share{N: c.n, Differing: c.k, b: 125}
		more := s.MoreUntil(0.01, c.limit)
		if more <= 0 {
			t.Errorf("%+v: %d more", c, more)
		}
		for ahead, want := range map[int]bool{more: true, more - 1: false} {
			if ahead < 0 {
				continue
			}
			k := c.k
			if c.n > 0 {
				k += int(math.Round(float64(c.k) / float64(c.n) * float64(ahead)))
			}
			f := Share{N: c.n + ahead, Differing: k, b: s.b}
			_, high := f.Interval(0.01)
			if got := high <= c.limit+1e-14; got != want {
				t.Errorf("%+v: %d more of %d bring the bound to %v", c, ahead, more, high)
			}
		}
	}
	s := NewShare(0.002)
	s.N = 5000
	if s.MoreUntil(0.01, 0.002) != 0 {
		t.Error("a bound that holds already needs more")
	}
	if f := (Share{N: 100, Differing: 1, b: 125}); f.MoreUntil(0.01, 0.01) != -1 || f.MoreUntil(0.01, 0.009) != -1 {
		t.Error("a rate at the limit gets below it by waiting")
	}
	for limit, within := range map[float64]bool{-1: false, 0: false, 1e-14: false, 1e-11: true} {
		if more := (&Share{b: 125}).MoreUntil(0.01, limit); (more >= 0) != within || more > 1<<40 {
			t.Errorf("a limit of %v needs %d", limit, more)
		}
	}
}

// TestUpperRateIsClopperPearson: at the bound, so few bad responses or fewer come with
// a chance of beta.
func TestUpperRateIsClopperPearson(t *testing.T) {
	for _, beta := range []float64{0.1, 0.05} { // asked for the first time, and of what its zero value counts
		if k := (KnownRate{}); k.Of(0, 0, beta) != 1 {
			t.Errorf("nothing seen is bounded by %v", (&KnownRate{}).Of(0, 0, beta))
		}
	}
	var known KnownRate
	for _, c := range []struct {
		bad, n int
		beta   float64
	}{{0, 10, 0.05}, {3, 10, 0.05}, {3, 10, 0.01}, {3, 40, 0.01}, {9, 10, 0.05}, {9, 10, 0.05}, {0, 10, 0.05}, {5, 5, 0.1}, {6, 5, 0.1}, {1, 0, 0.1}} {
		p := UpperRate(c.bad, c.n, c.beta)
		if got := known.Of(c.bad, c.n, c.beta); got != p || known.Of(c.bad, c.n, c.beta) != p {
			t.Errorf("%+v: known as %v, not %v", c, got, p)
		}
		if c.bad >= c.n {
			if p != 1 {
				t.Errorf("%+v: bounded by %v", c, p)
			}
			continue
		}
		chance := 0.0
		for k := range c.bad + 1 {
			chance += math.Exp(choose(c.n, k) + float64(k)*math.Log(p) + float64(c.n-k)*math.Log1p(-p))
		}
		if !near(chance, c.beta, 1e-6) {
			t.Errorf("%+v: %v, of which the chance is %v", c, p, chance)
		}
	}
}

// TestHalfWidthIsTight: at the interval's end the best of the bets has just won the
// level, and no bet has won more.
func TestHalfWidthIsTight(t *testing.T) {
	for _, n := range []int{1, 30, 1000, 1_000_000} {
		for _, v := range []float64{0, 0.01 * float64(n), float64(n)} {
			sum := float64(n) * HalfWidth(n, v, 0.05)
			best := math.Inf(-1)
			for _, l := range slopes {
				best = max(best, l*sum-(-math.Log(1-l)-l)*v)
			}
			if !near(best, math.Log(float64(len(slopes))/0.05), 1e-9) {
				t.Errorf("%d payoffs, squares of %v: a sum of %v wins e^%v", n, v, sum, best)
			}
		}
	}
	if !math.IsInf(HalfWidth(0, 0, 0.05), 1) {
		t.Error("nothing seen bounds the mean")
	}
}

// TestRatioSumsAreThePayoffs: the sums reject a ratio where the payoffs themselves do,
// and the interval's ends are the first ratios that are rejected.
func TestRatioSumsAreThePayoffs(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var s RatioSums
	var pairs [][2]float64
	for range 4000 {
		y, x := 5*r.Float64(), 4.5*r.Float64()
		s.Add(y, x)
		pairs = append(pairs, [2]float64{min(y, 4), min(x, 4)})
	}
	if s.N != len(pairs) {
		t.Errorf("%d of %d pairs", s.N, len(pairs))
	}
	for _, q := range []float64{0, 0.3, 0.9, 1, 1.05, 1.1, 1.2, 1.3, 2, 7, 50} {
		sum, squares := 0.0, 0.0
		for _, p := range pairs {
			g := (p[0] - q*p[1]) / (4 * max(1, q))
			sum, squares = sum+g, squares+g*g
		}
		if want := math.Abs(sum) > float64(len(pairs))*HalfWidth(len(pairs), squares, 0.01); s.Rejects(q, 0.01) != want {
			t.Errorf("ratio %v: rejected %v", q, !want)
		}
	}
	estimate, low, high := s.Interval(0.01)
	if !near(estimate, s.Y/s.X, 1e-12) || low >= estimate || high <= estimate || high-low > 0.5 {
		t.Errorf("%v within %v and %v", estimate, low, high)
	}
	for q, want := range map[float64]bool{low: true, low + 1e-6: false, estimate: false, high - 1e-6: false, high: true} {
		if s.Rejects(q, 0.01) != want {
			t.Errorf("ratio %v of %v to %v: rejected %v", q, low, high, !want)
		}
	}
	var none RatioSums
	none.Add(3, 0)
	for _, s := range []RatioSums{{}, none} {
		if e, low, high := s.Interval(0.01); e != 1 || low != 0 || !math.IsInf(high, 1) {
			t.Errorf("%+v: %v within %v and %v", s, e, low, high)
		}
	}
	var few RatioSums
	few.Add(1, 1)
	if e, low, high := few.Interval(0.01); e != 1 || low != 0 || high != 100 {
		t.Errorf("one pair: %v within %v and %v", e, low, high)
	}
}

// TestRejectsBeyondTheWidth: a sum at the interval's very end is within it.
func TestRejectsBeyondTheWidth(t *testing.T) {
	end := 4 * HalfWidth(1, 0, 0.05)
	if r := (RatioSums{N: 1, Y: end}); r.Rejects(0, 0.05) {
		t.Error("the end is outside")
	}
	if r := (RatioSums{N: 1, Y: math.Nextafter(end, 1e9) + 1e-9}); !r.Rejects(0, 0.05) {
		t.Error("what is beyond the end is inside")
	}
}

func TestCrossing(t *testing.T) {
	for _, c := range [][4]float64{{1, 0, 0.3, 0.3}, {1, 100, 42, 42}, {1, 100, 200, 100}, {1, 0, -1, 0}} {
		above := c[1] > c[0]
		got := crossing(c[0], c[1], func(q float64) bool { return above && q >= c[2] || !above && q <= c[2] })
		if !near(got, c[3], 1e-9) {
			t.Errorf("from %v to %v: %v, not %v", c[0], c[1], got, c[3])
		}
	}
}

// TestShareBoundIsAnEdge: at the bound the mixture is 1/alpha times as likely as it, a
// larger share is less likely still, and what nothing bounds is bounded by 1.
func TestShareBoundIsAnEdge(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {0, 3000}, {1, 2}, {5, 100}, {6, 10}} {
		k, n := c[0], c[1]
		b := ShareBound(k, n, 0.05)
		got := LogChance(k, n, shareA, shareB) - float64(k)*math.Log(b) - float64(n-k)*math.Log1p(-b)
		if b <= float64(k)/float64(n) || b >= 1 || !near(got, math.Log(20), 1e-6) {
			t.Errorf("%d of %d: %v, where the mixture is e^%v as likely", k, n, b, got)
		}
	}
	for _, c := range [][2]int{{0, 0}, {3, 3}, {4, 3}} {
		if b := ShareBound(c[0], c[1], 0.05); b != 1 {
			t.Errorf("%d of %d: %v", c[0], c[1], b)
		}
	}
}

// TestNeededForIsTheFirst: so many good rounds bring the bound to p, and one fewer do
// not. A share that takes too many rounds is not waited for without end.
func TestNeededForIsTheFirst(t *testing.T) {
	for _, p := range []float64{0.9, 0.3, 0.01, 0.002, 1e-5} {
		n := NeededFor(p, 0.05)
		if ShareBound(0, n, 0.05) > p || ShareBound(0, n-1, 0.05) <= p {
			t.Errorf("%v needs %d: bounds %v, one before %v", p, n, ShareBound(0, n, 0.05), ShareBound(0, n-1, 0.05))
		}
	}
	for _, n := range []int{1, 2, 37, 1000} {
		if got := NeededFor(ShareBound(0, n, 0.05), 0.05); got != n {
			t.Errorf("the bound of %d rounds needs %d", n, got)
		}
	}
	for p, want := range map[float64]int{1: 0, 2: 0, 0: 0, -1: 0, 1e-12: 1 << 30} {
		if got := NeededFor(p, 0.05); got != want {
			t.Errorf("%v needs %d, not %d", p, got, want)
		}
	}
}

package distribution

import (
	"math"

	"whittle/carve/compare/eprocess"
)

// pair is one exchange as the e-processes see it: both responses to the same
// request, scaled, and what the past predicts for them.
type pair struct {
	n    int // the exchange's number
	x, y float64
	// centre and spread are the monolith's, from the past.
	centre, spread float64
	stratum        *stratum
}

// z is a value's deviation in spreads. Where the monolith has never varied,
// another value is far away.
func (p *pair) z(v float64) float64 {
	d := v - p.centre
	switch {
	case d == 0:
		return 0
	case p.spread > 0:
		return drawIn(d/p.spread, farthest)
	}
	return math.Copysign(farthest, d)
}

// meanEprocess bets that one side's responses are larger. Its payoff is odd in
// the difference of the pair, hence antisymmetric, and bounded so that no
// single response ruins it.
type meanEprocess struct {
	Bets  eprocess.Bets `json:"bets"`
	Skill skill         `json:"skill"`
}

func (w *meanEprocess) bet(p *pair, alpha float64) {
	g := eprocess.Clamp((p.z(p.y) - p.z(p.x)) / 3)
	w.Bets.Bet(g*p.stratum.Mean.stake(&w.Skill), alpha, p.n)
	p.stratum.Mean.learn(g)
	w.Skill.learn(g)
}

// spreadEprocess bets that one side's responses lie further apart. It shares its
// part of the error rate between two tests.
//
// The first looks at every exchange: which response lies further from the middle
// between both sides' past means. It is quick, but dull where the candidate is
// also shifted by much more than its spread.
//
// The second looks at two exchanges of one size at a time: on which side are
// the two responses further apart. No shift changes that. Both pairs are swapped
// at once, so the stakes are those of before the first of the two. Where a
// side gave the same response twice it says nothing of spread (but see
// repeatsEprocess), and the later exchange takes the earlier one's place.
type spreadEprocess struct {
	Single      eprocess.Bets `json:"single"`
	SingleSkill skill         `json:"single_skill"`
	Double      eprocess.Bets `json:"double"`
	DoubleSkill skill         `json:"double_skill"`
}

// waiting is the first of two exchanges that are looked at together.
type waiting struct {
	Set    bool    `json:"set"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Spread float64 `json:"spread"`
	Stake  float64 `json:"stake"`
}

func (w *spreadEprocess) bet(p *pair, alpha float64) {
	t := p.stratum
	if t.X.N < 2 || t.Y.N < 2 || p.spread == 0 {
		return
	}
	middle := (t.X.Mean + t.Y.Mean) / 2
	g := wider(p.y-middle, p.x-middle, p.spread)
	w.Single.Bet(g*t.Single.stake(&w.SingleSkill), alpha/2, p.n)
	t.Single.learn(g)
	w.SingleSkill.learn(g)

	first := t.Waiting
	dx, dy := p.x-first.X, p.y-first.Y
	if first.Set && dx != 0 && dy != 0 {
		g = wider(dy, dx, first.Spread*math.Sqrt2)
		w.Double.Bet(g*first.Stake, alpha/2, p.n)
		t.Double.learn(g)
		w.DoubleSkill.learn(g)
		t.Gaps.add(dy/first.Spread, dx/first.Spread)
		t.Waiting.Set = false
		return
	}
	t.Waiting = waiting{true, p.x, p.y, p.spread, t.Double.stake(&w.DoubleSkill)}
}

// wider compares two deviations, in (-1, 1): positive where y's is larger.
func wider(y, x, spread float64) float64 {
	y, x = drawIn(y/spread, farthest), drawIn(x/spread, farthest)
	d := (y*y - x*x) / 4
	return d / (1 + math.Abs(d))
}

func (w *spreadEprocess) DecidedAt() int { return earlier(w.Single.At, w.Double.At) }

// earlier is the smaller of two numbers of exchanges, 0 meaning never.
func earlier(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (w *spreadEprocess) eValue() float64 { return (w.Single.EValue() + w.Double.EValue()) / 2 }

// cells is into how many classes of deviation the distributions are cut.
const cells = 32

// cellOf gives the class of a deviation: equal steps of z/(1+|z|), fine near
// the centre and open at both ends.
func cellOf(z float64) int {
	u := z / (1 + math.Abs(z))
	return max(0, min(cells-1, int((u+1)*(cells/2))))
}

// distributionEprocess bets that one side's responses fall more often into some classes of
// deviation, and learns from the past which ones. Its payoff is h(y) - h(x)
// with h from the past, hence antisymmetric.
type distributionEprocess struct {
	Bets eprocess.Bets `json:"bets"`
	X    [cells]int    `json:"x"`
	Y    [cells]int    `json:"y"`

	leans      [cells]float64 // of each class
	leansKnown bool
}

func (w *distributionEprocess) bet(cx, cy int, alpha float64, n int) {
	if cx != cy {
		widest := w.widest()
		w.Bets.Bet((w.leans[cy]-w.leans[cx])/widest, alpha, n)
	}
	w.X[cx]++
	w.Y[cy]++
	w.leans[cx], w.leans[cy] = w.lean(cx), w.lean(cy)
}

// lean is how much a class has belonged to the candidate, in [-1, 1].
func (w *distributionEprocess) lean(c int) float64 {
	x, y := float64(w.X[c]), float64(w.Y[c])
	return (y - x) / (y + x + 2)
}

// widest is the largest difference that two leans now have, at least a tenth.
func (w *distributionEprocess) widest() float64 {
	if !w.leansKnown {
		for c := range w.leans {
			w.leans[c] = w.lean(c)
		}
		w.leansKnown = true
	}
	least, most := 0.0, 0.0
	for _, l := range w.leans {
		if l < least {
			least = l
		}
		if l > most {
			most = l
		}
	}
	return max(0.1, most-least)
}

// distributionSums gathers the paired differences of indicators 1[y <= t] - 1[x <= t]
// at the borders of the cells, for the interval of the distance between the
// two distribution functions.
type distributionSums struct {
	N int `json:"n"`
	// Sum and Square are of the differences, per border.
	Sum    [cells - 1]int `json:"sum"`
	Square [cells - 1]int `json:"sq"`
}

func (s *distributionSums) add(cx, cy int) {
	s.N++
	for b := cy; b < cx; b++ { // y at or below the border, x above it
		s.Sum[b]++
		s.Square[b]++
	}
	for b := cx; b < cy; b++ {
		s.Sum[b]--
		s.Square[b]++
	}
}

// interval gives the largest distance and its time-uniform interval. The upper
// end needs no share of alpha per border: it is wrong only if the interval at
// the one border where the true distance is largest is wrong.
func (s *distributionSums) interval(alpha float64) (estimate, low, high float64) {
	if s.N == 0 {
		return 0, 0, 1
	}
	for b := range s.Sum {
		d := math.Abs(float64(s.Sum[b])) / float64(s.N)
		v := float64(s.Square[b])
		estimate = max(estimate, d)
		high = max(high, d+eprocess.HalfWidth(s.N, v, alpha))
		low = max(low, d-eprocess.HalfWidth(s.N, v, alpha/(cells-1)))
	}
	return estimate, max(0, low), min(1, high)
}

// meanSums gathers the bounded relative differences of the pairs.
type meanSums struct {
	N      int     `json:"n"`
	Sum    float64 `json:"sum"`
	Square float64 `json:"sq"`
	// Level is what the differences are relative to and Reach the largest one
	// that counts in full; both are fixed from the first exchanges.
	Level float64 `json:"level"`
	Reach float64 `json:"reach"`
	// Warm gathers the first exchanges.
	Warm    moments `json:"warm"`
	WarmAbs float64 `json:"warm_abs"`
}

// warmUp is how many exchanges fix the scale of the mean's interval.
const warmUp = 24

func (s *meanSums) add(p *pair) {
	if s.Warm.N < warmUp {
		s.Warm.add(p.y - p.x)
		s.WarmAbs += math.Abs(p.x)
		if s.Warm.N == warmUp {
			s.Level = s.WarmAbs / warmUp
			s.Reach = max(0.1*s.Level, 10*math.Sqrt(s.Warm.M2/warmUp))
		}
		return
	}
	s.N++
	if s.Reach <= 0 {
		s.Square += eprocess.Indicator(p.y != p.x)
		return
	}
	d := eprocess.Clamp((p.y - p.x) / s.Reach)
	s.Sum += d
	s.Square += d * d
}

// Interval gives the relative difference of the means with its time-uniform
// interval.
func (s *meanSums) Interval(alpha float64) (estimate, low, high float64) {
	if s.N == 0 {
		return 0, -1, 1
	}
	unit := 0.0
	switch {
	case s.Level > 0:
		unit = s.Reach / s.Level
	case s.Square > 0:
		return 0, -1, 1 // nothing to be relative to
	}
	estimate = s.Sum / float64(s.N) * unit
	half := eprocess.HalfWidth(s.N, s.Square, alpha) * unit
	return estimate, estimate - half, estimate + half
}

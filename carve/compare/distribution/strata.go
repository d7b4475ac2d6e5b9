package distribution

import (
	"math"
	"slices"

	"whittle/carve/compare/eprocess"
)

const (
	// rawKey is the stratum of responses that are not divided, because `per` is 0 or negative.
	rawKey = math.MinInt
	// enough responses of the monolith show its centre and spread: held by
	// TestIdenticalServicesRaiseNoFalseAlarm.
	enough = 5
)

// moments are a running mean and sum of squared deviations (Welford 1962).
type moments struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	M2   float64 `json:"m2"`
}

func (m *moments) add(v float64) {
	m.N++
	d := v - m.Mean
	m.Mean += d / float64(m.N)
	m.M2 += d * (v - m.Mean)
}

func (m *moments) spread() float64 {
	if m.N < 2 {
		return 0
	}
	return math.Sqrt(m.M2 / float64(m.N-1))
}

// drawIn keeps a value within ±most.
func drawIn(v, most float64) float64 { return max(-most, min(most, v)) }

// largest bounds a divisor, a scaled response and a deviation in spreads, so that no sum of squares
// overflows, whatever a side writes.
const largest = math.MaxFloat32

// stratum is what is known of the responses to requests of one size.
type stratum struct {
	Key int `json:"key"`
	// X are the monolith's scaled responses, limited to six spreads; Y the candidate's without outliers.
	X moments `json:"x"`
	Y moments `json:"y"`
	// Far is the monolith's largest deviation, in spreads as known at the time.
	Far float64 `json:"far"`

	// Mean and Spread are the skills of these bets at this size.
	Mean    skill   `json:"mean"`
	Spread  skill   `json:"spread"`
	Waiting waiting `json:"waiting"`

	Wrong wrongTally `json:"wrong"`
}

// strata are the sizes seen, in the order of their first exchange.
type strata []stratum

// keyOfPer gives the stratum of a divisor: its power of two. Those beyond 2^±keptMost join the outermost.
func keyOfPer(per float64) int {
	if !(per > 0) {
		return rawKey
	}
	_, e := math.Frexp(per)
	return max(-keptMost, min(keptMost, e-1))
}

// unitOf is what a response is divided by: its divisor, or 1 where that is 0 or negative.
func unitOf(per float64) float64 {
	if per > 0 {
		return per
	}
	return 1
}

// place is a size's index in the order of first exchanges; −1: it did not come.
func (s strata) place(key int) int {
	return slices.IndexFunc(s, func(t stratum) bool { return t.Key == key })
}

// of gives the stratum of a key, and opens a new one.
func (s *strata) of(key int) *stratum {
	i := s.place(key)
	if i < 0 {
		i = len(*s)
		*s = append(*s, stratum{Key: key})
	}
	return &(*s)[i]
}

// predict gives the centre and the spread of the next scaled response in a stratum from the monolith's
// past; false where the past says nothing yet. A new size borrows from the nearest known one, on the
// safe side: the scaled spread is taken not to shrink with the size, and to grow like 1/per below it.
func (s strata) predict(t *stratum) (centre, spread float64, ok bool) {
	if t.X.N >= enough {
		return t.X.Mean, t.X.spread(), true
	}
	var near *stratum
	for i := range s {
		o := &s[i]
		if o.Key > rawKey && o.X.N >= enough && (near == nil || distance(o.Key, t.Key) < distance(near.Key, t.Key)) {
			near = o
		}
	}
	if near == nil || t.Key == rawKey {
		return 0, 0, false
	}
	return near.X.Mean, near.X.spread() * math.Ldexp(1, max(0, near.Key-t.Key)), true
}

func distance(a, b int) int { return max(a-b, b-a) }

// learn takes the monolith's response into its stratum.
func (t *stratum) learn(p *pair, known bool) {
	x := p.x
	if known && t.X.N >= enough {
		t.Far = max(t.Far, math.Abs(p.z(x)))
		if p.spread > 0 {
			x = max(p.centre-6*p.spread, min(p.centre+6*p.spread, x))
		}
	}
	t.X.add(x)
}

// pair is one exchange as the tests see it: both responses to one request, scaled, and the prediction
// from the past.
type pair struct {
	n    int // the exchange's number
	x, y float64
	// centre and spread are the monolith's, from the past.
	centre, spread float64
	stratum        *stratum
}

// z is a value's deviation in spreads. Where the monolith never varied, another value is far away.
func (p *pair) z(v float64) float64 {
	d := v - p.centre
	switch {
	case d == 0:
		return 0
	case p.spread > 0:
		return drawIn(d/p.spread, largest)
	}
	return math.Copysign(largest, d)
}

// skill is what past payoffs say about the next one: the stake that would have been best, in [-1, 1].
type skill struct {
	Sum   float64 `json:"s"`
	Sumsq float64 `json:"q"`
}

func (k *skill) learn(g float64) {
	k.Sum += g
	k.Sumsq += g * g
}

// lean bets on which side has the larger value, within a size of request and overall. Its payoffs are
// antisymmetric in the pair, and bounded so that no single response ruins it.
type lean struct {
	eprocess.Bets
	Skill skill `json:"skill"`
}

func newLean() lean { return lean{Bets: eprocess.NewBets()} }

// stake weighs the skill within a stratum with a tenth of the skill overall.
func (l *lean) stake(within *skill) float64 {
	return eprocess.Clamp((within.Sum + l.Skill.Sum/10) / (within.Sumsq + l.Skill.Sumsq/10 + 1))
}

// bet settles a payoff at a stake chosen before it.
func (l *lean) bet(g, stake float64, within *skill, alpha float64, n int) {
	if math.IsNaN(g) {
		return
	}
	l.Bet(g*stake, alpha, n)
	l.Skill.learn(g)
	if within != nil {
		within.learn(g)
	}
}

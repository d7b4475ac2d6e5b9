package distribution

import (
	"math"

	"whittle/carve/compare/eprocess"
)

const (
	// strataMost bounds the sizes of `per` that are distinguished: powers of two
	// from 2^-20 to 2^43, what lies beyond joining the outermost.
	strataMost = 64
	lowestKey  = -20
	// rawKey is the stratum of responses that are not divided, because the
	// request's `per` is 0 or negative.
	rawKey = lowestKey - 1
	// enough responses of the monolith to know its centre and spread.
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

// skill is what past payoffs say about the next one: the stake that would have
// been best, as a part in [-1, 1].
type skill struct {
	Sum   float64 `json:"s"`
	Sumsq float64 `json:"q"`
}

func (k *skill) learn(g float64) {
	if math.IsNaN(g) {
		return
	}
	k.Sum += g
	k.Sumsq += g * g
}

// stake weighs the skill within a stratum with a little of the skill overall.
func (k *skill) stake(overall *skill) float64 {
	const borrowed = 0.1
	return eprocess.Clamp((k.Sum + borrowed*overall.Sum) / (k.Sumsq + borrowed*overall.Sumsq + 1))
}

// drawIn keeps a value within ±most.
func drawIn(v, most float64) float64 { return max(-most, min(most, v)) }

const (
	// largest bounds a scaled response, and a divisor, so that no sum of squares
	// of what a side may write leaves the floats.
	largest = 1e60
	// farthest bounds a deviation, in spreads.
	farthest = 1e6
)

// stratum is what is known of the responses to requests of one size.
type stratum struct {
	Key int `json:"key"`
	// X are the monolith's scaled responses, far ones drawn in to six spreads; Y
	// the candidate's that are no outliers; Fresh those of Y that were not given
	// before, so that one draw seen twenty times counts once.
	X     moments `json:"x"`
	Y     moments `json:"y"`
	Fresh moments `json:"fresh"`
	// Far is the largest deviation of a response of the monolith, in spreads as
	// they were known then.
	Far float64 `json:"far"`

	Mean    skill   `json:"mean"`
	Single  skill   `json:"single"`
	Double  skill   `json:"double"`
	Waiting waiting `json:"waiting"`
	// Gaps are the distances between the responses of two exchanges, for the
	// ratio of the spreads at this size.
	Gaps gaps `json:"gaps"`

	Wrong wrongTally `json:"wrong"`
}

// gaps sum the squared distances, in spreads, between the responses of two
// exchanges on either side.
type gaps struct {
	N int     `json:"n"`
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func (g *gaps) add(dy, dx float64) {
	dy, dx = drawIn(dy, farthest), drawIn(dx, farthest)
	g.N++
	g.X += dx * dx
	g.Y += dy * dy
}

// strata are the sizes seen, in the order of their first exchange.
type strata struct {
	Seen []stratum `json:"seen"`

	index [strataMost + 1]int8 // 1 + place in Seen, by key - rawKey
}

// keyOfPer gives the stratum of a divisor.
func keyOfPer(per float64) int {
	if !(per > 0) {
		return rawKey
	}
	_, e := math.Frexp(per)
	return max(lowestKey, min(lowestKey+strataMost-1, e-1))
}

// unitOf is what a response is divided by: its divisor, or 1 where that is 0 or
// negative.
func unitOf(per float64) float64 {
	if per > 0 {
		return per
	}
	return 1
}

// of gives the stratum of a key, opening it if it is new.
func (s *strata) of(key int) *stratum {
	t := s.known(key)
	if t == nil {
		s.Seen = append(s.Seen, stratum{Key: key})
		s.index[key-rawKey] = int8(len(s.Seen))
		t = &s.Seen[len(s.Seen)-1]
	}
	return t
}

// known gives the stratum of a key; nil: none was opened.
func (s *strata) known(key int) *stratum {
	i := s.index[key-rawKey]
	if i == 0 {
		return nil
	}
	return &s.Seen[i-1]
}

// place is where a stratum stands in the order of first exchanges, from 0.
func (s *strata) place(t *stratum) int { return int(s.index[t.Key-rawKey]) - 1 }

// predict gives the centre and the spread of the next scaled response in a
// stratum from the monolith's past; false where the past says nothing yet. A
// size that is new borrows from the nearest known one, on the safe side: the
// scaled spread is taken not to shrink with the size, and to grow like 1/per
// towards smaller ones.
func (s *strata) predict(t *stratum) (centre, spread float64, ok bool) {
	if t.X.N >= enough {
		return t.X.Mean, t.X.spread(), true
	}
	if t.Key == rawKey {
		return 0, 0, false
	}
	var near *stratum
	for i := range s.Seen {
		o := &s.Seen[i]
		if o.Key == rawKey || o.X.N < enough {
			continue
		}
		if near == nil || distance(o.Key, t.Key) < distance(near.Key, t.Key) {
			near = o
		}
	}
	if near == nil {
		return 0, 0, false
	}
	spread = near.X.spread()
	if near.Key > t.Key {
		spread *= math.Ldexp(1, near.Key-t.Key)
	}
	return near.X.Mean, spread, true
}

func distance(a, b int) int { return max(a-b, b-a) }

// learn takes the monolith's response into its stratum.
func (t *stratum) learn(x, centre, spread float64, known bool) {
	if known && t.X.N >= enough {
		t.Far = max(t.Far, inSpreads(x, centre, spread))
		if spread > 0 {
			x = max(centre-6*spread, min(centre+6*spread, x))
		}
	}
	t.X.add(x)
}

// inSpreads is how far a value lies from the centre, in spreads, bounded.
func inSpreads(v, centre, spread float64) float64 {
	const most = 1e9
	d := math.Abs(v - centre)
	if d == 0 {
		return 0
	}
	if d >= most*spread {
		return most
	}
	return d / spread
}

// restore rebuilds the index and reports whether the state is a possible one.
func (s *strata) restore() bool {
	s.index = [strataMost + 1]int8{}
	if len(s.Seen) > strataMost+1 {
		return false
	}
	for i := range s.Seen {
		t := &s.Seen[i]
		at := t.Key - rawKey
		if at < 0 || at > strataMost || s.index[at] != 0 || !t.valid() {
			return false
		}
		s.index[at] = int8(i + 1)
	}
	return true
}

func (t *stratum) valid() bool {
	w := &t.Waiting
	return t.X.valid() && t.Y.valid() && t.Fresh.valid() && t.Far >= 0 && eprocess.Within(1e9, t.Far) &&
		t.Mean.valid() && t.Single.valid() && t.Double.valid() && t.Wrong.valid() &&
		w.Spread >= 0 && eprocess.Within(1e70, w.X, w.Y, w.Spread) && eprocess.Within(1, w.Stake) &&
		t.Gaps.N >= 0 && t.Gaps.X >= 0 && t.Gaps.Y >= 0 && eprocess.Within(1e40, t.Gaps.X, t.Gaps.Y)
}

func (m *moments) valid() bool {
	return m.N >= 0 && m.M2 >= 0 && eprocess.Within(1e61, m.Mean) && eprocess.Within(1e150, m.M2)
}

func (k *skill) valid() bool { return k.Sumsq >= 0 && eprocess.Within(1e18, k.Sum, k.Sumsq) }

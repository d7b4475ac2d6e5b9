package distribution

import (
	"math"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// larger is the payoff of the mean: how much y exceeds x, in threes of spreads.
func (p *pair) larger(y, x float64) float64 { return eprocess.Clamp((p.z(y) - p.z(x)) / 3) }

// waiting is the first of two exchanges looked at together.
type waiting struct {
	Set    bool    `json:"set"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Spread float64 `json:"spread"`
	Stake  float64 `json:"stake"`
}

// spreadEprocess bets that one side's responses lie further apart. It looks at two exchanges of one size at
// a time: on which side are the two responses further apart? No shift changes that. Both pairs are swapped
// at once, so the stakes are from before the first of the two. A side that gave the same response twice
// says nothing of spread (see repeatsEprocess); then the later exchange replaces the earlier one.
type spreadEprocess struct {
	lean
	// N pairs of exchanges were looked at. X and Y sum the squared distances, in spreads, between either
	// side's responses.
	N int     `json:"n"`
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func (w *spreadEprocess) see(p *pair, alpha float64) {
	t := p.stratum
	if t.X.N < 2 || p.spread == 0 {
		return
	}
	first := t.Waiting
	dx, dy := p.x-first.X, p.y-first.Y
	if !first.Set || dx == 0 || dy == 0 {
		t.Waiting = waiting{true, p.x, p.y, p.spread, w.stake(&t.Spread)}
		return
	}
	t.Waiting.Set = false
	dx, dy = dx/first.Spread, dy/first.Spread
	d := (dy*dy - dx*dx) / 8
	w.bet(d/(1+math.Abs(d)), first.Stake, &t.Spread, alpha, p.n)
	w.N++
	w.X += drawIn(dx*dx, largest)
	w.Y += drawIn(dy*dy, largest)
}

// borders divide deviations into borders + 1 classes, in equal steps of z/(1+|z|): fine near the centre
// and open at both ends. So many cost a test 3 % of its exchanges, and a distance between them is missed
// by less than its margin.
const borders = 31

// classOf gives the class of a deviation.
func classOf(z float64) int {
	u := z / (1 + math.Abs(z))
	return max(0, min(borders, int((u+1)*(borders+1)/2)))
}

// distances tests and bounds the distance between the two distribution functions, by the paired differences
// of indicators 1[y <= t] - 1[x <= t] at each border t. The evidence is the highest of the borders' divided
// by their number. That is at most their mean, which is an e-process. Source: eprocess.Payoffs.
type distances struct {
	N int `json:"n"`
	// Sum and Square are of the differences, per border.
	Sum    [borders]float64 `json:"sum"`
	Square [borders]float64 `json:"sq"`
	eprocess.Passed
}

func (s *distances) see(cx, cy int, alpha float64, n int) {
	s.N++
	g := 1.0 // y at or below the border, x above it
	if cx < cy {
		g = -1
	}
	for b := min(cx, cy); b < max(cx, cy); b++ {
		s.Sum[b] += g
		s.Square[b]++
		s.weigh(b, alpha, n)
	}
}

// weigh looks at the evidence of a border where it may exceed what is known: at slack 0 it is below
// exp(sum²/2 squares), which costs less. Only what is suspected is shown, up to a cap.
func (s *distances) weigh(b int, alpha float64, n int) {
	known := max(s.Peak, eprocess.Suspected) * borders
	if known >= eprocess.EValueCap || s.Sum[b]*s.Sum[b] < 2*s.Square[b]*math.Log(known) {
		return
	}
	p := eprocess.Payoffs{N: s.N, Sum: s.Sum[b], Squares: s.Square[b]}
	s.Pass(eprocess.AsNumber(p.LogEValue(0))/borders, alpha, n)
}

// interval gives the largest distance and its time-uniform interval. The upper end needs no share of alpha
// per border: it is wrong only if the interval at the border with the largest true distance is wrong.
func (s *distances) interval(alpha float64) (estimate, low, high float64) {
	if s.N == 0 {
		return 0, 0, 1
	}
	for b := range s.Sum {
		d := math.Abs(s.Sum[b]) / float64(s.N)
		estimate = max(estimate, d)
		high = max(high, d+eprocess.HalfWidth(s.N, s.Square[b], alpha))
		low = max(low, d-eprocess.HalfWidth(s.N, s.Square[b], alpha/borders))
	}
	return estimate, low, min(1, high)
}

// meanSums are the relative differences of the pairs, bounded.
type meanSums struct {
	Sums eprocess.Payoffs `json:"sums"`
	// Level is what the differences are relative to, and Reach the largest one that counts in full. The
	// first exchanges, gathered in Warm, fix both.
	Level   float64 `json:"level"`
	Reach   float64 `json:"reach"`
	Warm    moments `json:"warm"`
	WarmAbs float64 `json:"warm_abs"`
}

// warmUp is how many exchanges fix the scale of the mean's interval: few of the 1,400 that a verdict
// takes, and enough that ten times their spread covers a heavy tail too.
const warmUp = 24

func (s *meanSums) see(p *pair) {
	if s.Warm.N < warmUp {
		s.Warm.add(p.y - p.x)
		s.WarmAbs += math.Abs(p.x)
		s.Level = s.WarmAbs / warmUp
		s.Reach = max(0.1*s.Level, 10*math.Sqrt(s.Warm.M2/warmUp))
		return
	}
	if s.Reach > 0 {
		s.Sums.Add((p.y - p.x) / s.Reach)
		return
	}
	s.Sums.N++
	s.Sums.Squares += eprocess.Indicator(p.y != p.x)
}

// Interval gives the relative difference of the means with its time-uniform interval.
func (s *meanSums) Interval(alpha float64) (estimate, low, high float64) {
	unit, sums := 0.0, &s.Sums
	switch {
	case sums.N == 0, s.Level == 0 && sums.Squares > 0: // nothing to be relative to
		return 0, -1, 1
	case s.Level > 0:
		unit = s.Reach / s.Level
	}
	half := eprocess.HalfWidth(sums.N, sums.Squares, alpha)
	return sums.Mean() * unit, (sums.Mean() - half) * unit, (sums.Mean() + half) * unit
}

// repeatSlots bounds the memory of each side's past responses.
const repeatSlots = 1024

// repeatsEprocess bets that the candidate repeats its earlier responses to like requests, as with a
// cache or a generator that is seeded alike. Two tests must both reject.
//
// With h the memory of the candidate's past responses, the first payoff is h(y) - h(x), which is
// antisymmetric; where responses repeat by nature both terms are alike. The second, 1[the candidate
// repeated itself] - 1[the monolith repeated itself], spares a candidate that repeats itself no more
// than the monolith.
type repeatsEprocess struct {
	Bets eprocess.Bets `json:"bets"`
	Own  eprocess.Bets `json:"own"`
	// Candidate and Monolith are memories of either side's responses.
	Candidate memory `json:"candidate"`
	Monolith  memory `json:"monolith"`
	// Of N exchanges, the candidate repeated itself in Y and the monolith in X. SameSecond of Y came in
	// the second of the earlier one.
	N          int `json:"n"`
	X          int `json:"x"`
	Y          int `json:"y"`
	SameSecond int `json:"second"`
}

// memory holds fingerprints of past responses and the seconds in which they came, by the fingerprint's
// lowest bits. The newest stays.
type memory [repeatSlots][2]uint32

func (m *memory) slot(mark uint32) *[2]uint32 { return &m[mark%repeatSlots] }

// see settles one exchange and reports whether the candidate repeated itself.
func (w *repeatsEprocess) see(per, x, y float64, second int64, alpha float64, n int) (again bool) {
	mx, my, now := markOf(per, x), markOf(per, y), uint32(second)
	own, was := w.Candidate.slot(my), w.Candidate.slot(mx)
	yAgain, xWas, xAgain := own[0] == my, was[0] == mx, w.Monolith.slot(mx)[0] == mx
	w.N++
	w.X += int(eprocess.Indicator(xAgain))
	w.Y += int(eprocess.Indicator(yAgain))
	w.SameSecond += int(eprocess.Indicator(yAgain && own[1] == now))
	w.Bets.Bet(eprocess.Indicator(yAgain)-eprocess.Indicator(xWas), alpha, n)
	w.Own.Bet(eprocess.Indicator(yAgain)-eprocess.Indicator(xAgain), alpha, n)
	*own, *w.Monolith.slot(mx) = [2]uint32{my, now}, [2]uint32{mx, now}
	return yAgain
}

// DecidedAt is the exchange at which repeats were shown; 0: not.
func (w *repeatsEprocess) DecidedAt() int {
	if !w.Bets.Decided() || !w.Own.Decided() {
		return 0
	}
	return max(w.Bets.At, w.Own.At)
}

func (w *repeatsEprocess) eValue() float64 { return min(w.Bets.EValue(), w.Own.EValue()) }

// markOf is a fingerprint of a response to a like request; never 0.
func markOf(per, v float64) uint32 {
	h := digest.Mix(math.Float64bits(per)*0x9e3779b97f4a7c15 ^ digest.Mix(math.Float64bits(v)))
	return uint32(h>>32) | 1<<31
}

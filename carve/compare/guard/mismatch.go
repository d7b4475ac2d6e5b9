package guard

import (
	"math"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// mismatch is the state of the test of differences.
//
// Equal services may differ: one of them is odd now and then, and an exchange
// differs whichever it was. The monolith's own repeats show how often. Two tests
// stand side by side, for served and for mirrored exchanges apart, since a
// candidate that is right only when asked second must not be drowned in mirrored
// ones; the mean of the four e-values is nine tenths of the meter's.
//
//   - repeated exchanges: the payoff 1[candidate differs] − 1[monolith differs
//     from itself] − Guard.Mismatch, scaled to [−1, 1]. Hypothesis: given the
//     request and the past, the candidate differs with a probability of at most
//     the monolith's own plus the limit. If both draw alike, which of the
//     monolith's second response and the candidate's is the odd one is a fair
//     coin, whatever the rate does. Source: eprocess.Bets;
//   - all exchanges: against the limit plus an upper bound on how often the
//     monolith differs from itself. Source: eprocess.Arms.Single; the bound is a
//     confidence sequence, wrong with ownPart of the level at most (eprocess.Share).
//
// A place where the monolith was seen to vary is noise, and neither test counts it.
// So the last tenth is a third test, of served exchanges:
//
//   - steady places: where the monolith varies in few of its repeats (rareMoves),
//     differences count whatever was learned. Hypothesis: given the past, no more of
//     the compared responses differ there than steadyLimit allows, which is what a
//     verdict excuses: twice the upper bound on the share of the
//     monolith's own repeats that differ there, and steadyLeast in any case. Data
//     that move between the two sides' responses stay below it; a candidate that is
//     wrong at such a place as a rule passes it. Source: eprocess.Arms.Single, and
//     eprocess.Share for the bound, which is wrong with movedPart of the level at most.
//
// Where the monolith was never asked twice (mirror.repeat_every: 0) there is only
// the limit.
type mismatch struct {
	Repeated [2]eprocess.Bets   `json:"repeated"` // by the side asked first
	All      [2]eprocess.Staked `json:"all"`
	Steady   eprocess.Staked    `json:"steady"`
	Count    int                `json:"n"`
	Bad      int                `json:"bad"`
	Breached bool               `json:"breached,omitempty"`
	// Own and OwnBad count the monolith's repeats, of all attempts, and those that
	// differed; OwnMoved those that differed at a steady place.
	Own      int `json:"own"`
	OwnBad   int `json:"own_bad"`
	OwnMoved int `json:"own_moved"`

	// Bound is on the share that differed, Moved on the share that did at a steady
	// place.
	Bound ownBound `json:"bound"`
	Moved ownBound `json:"moved"`

	odds, steady eprocess.FixedOdds // of All, and of Steady
}

func newMismatch() mismatch {
	return mismatch{Repeated: [2]eprocess.Bets{eprocess.NewBets(), eprocess.NewBets()}}
}

// restart forgets the candidate and keeps the monolith.
func (m *mismatch) restart() {
	own, bad, moved := m.Own, m.OwnBad, m.OwnMoved
	*m = newMismatch()
	m.Own, m.OwnBad, m.OwnMoved = own, bad, moved
}

// logEValue is the logarithm of what the five have made of their parts.
func (m *mismatch) logEValue() float64 {
	sum := eprocess.LogSum(m.All[0].LogEValue(), m.All[1].LogEValue())
	if w := m.Repeated[0].Now + m.Repeated[1].Now; w > 0 {
		sum = eprocess.LogSum(sum, math.Log(w))
	}
	return eprocess.LogSum(sum+math.Log(mismatchPart), m.Steady.LogEValue()+math.Log(steadyPart))
}

// reaches reports whether the five have made at least so much of their parts.
func (m *mismatch) reaches(threshold float64) bool {
	most := mismatchPart*(m.All[0].Most()+m.All[1].Most()+m.Repeated[0].Now+m.Repeated[1].Now) + steadyPart*m.Steady.Most()
	return most >= threshold && m.logEValue() >= math.Log(threshold)
}

const (
	// mismatchPart is each of four tests' part of the wealth, steadyPart the fifth's.
	mismatchPart, steadyPart = 0.225, 0.1
	// steadyMost is which share of the compared responses may differ at steady
	// places where the monolith was never asked twice; steadyLeast is allowed whatever
	// is known of it: as much as a verdict excuses of a place at which the monolith
	// varies in the share rareMoves of its repeats, the most that a steady one does
	// (compare's rareNoise, noiseFactor and noiseBound).
	rareMoves               = 0.05
	steadyFactor            = 2
	steadyMost, steadyLeast = 0.5, steadyFactor * rareMoves
)

// pairMismatch takes a compared exchange. Failures are the errors guard's.
func (g *Guard) pairMismatch(p *whittle.Pair) {
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	m := &g.Mismatch
	if g.shifting() {
		bad := int(eprocess.Indicator(p.Differs))
		m.Count, m.Bad = m.Count+1, m.Bad+bad
		if limit := g.mismatchLimit(); limit < 0.95 {
			odds := m.odds.At(limit)
			m.All[p.First&1].Play(func(a *eprocess.Arms) { a.Against(odds, bad, 1-bad) })
		}
		if bad := int(eprocess.Indicator(p.Steady)); p.First == whittle.Candidate {
			odds := m.steady.At(g.steadyLimit())
			m.Steady.Play(func(a *eprocess.Arms) { a.Against(odds, bad, 1-bad) })
		}
		if p.Repeated {
			b := &m.Repeated[p.First&1]
			payoff := eprocess.Indicator(p.Differs) - eprocess.Indicator(p.SelfDiffers) - g.cfg.Mismatch
			b.Bet(payoff/(1+g.cfg.Mismatch), g.level(), b.Rounds+1)
		}
		m.Breached = m.Breached || m.reaches(g.threshold())
	}
	if p.Repeated {
		m.Own++
		m.OwnBad += int(eprocess.Indicator(p.SelfDiffers))
		m.OwnMoved += int(eprocess.Indicator(p.SelfSteady))
	}
}

// mismatchLimit is the share of differences that nothing may be concluded from.
func (g *Guard) mismatchLimit() float64 {
	m := &g.Mismatch
	if m.Own == 0 {
		return g.cfg.Mismatch
	}
	return m.Bound.of(m.Own, m.OwnBad, max(g.cfg.Mismatch, 1e-3), ownPart*g.level()) + g.cfg.Mismatch
}

// steadyLimit is the share of differences at steady places that nothing may be
// concluded from.
func (g *Guard) steadyLimit() float64 {
	m := &g.Mismatch
	if m.Own == 0 {
		return steadyMost
	}
	return min(steadyMost, max(steadyLeast, steadyFactor*m.Moved.of(m.Own, m.OwnMoved, rareMoves, movedPart*g.level())))
}

// ownPart and movedPart are the parts of the level that the bounds on the monolith's
// repeats may spend: a tenth in all (Guard.threshold).
const ownPart, movedPart = 0.09, 0.01

// ownBound is the upper bound on a share of the monolith's repeats when Bad of N had
// been such ones.
type ownBound struct {
	High float64 `json:"high"`
	N    int     `json:"n"`
	Bad  int     `json:"bad"`
}

// of is the bound at n repeats. It is found anew when it can have moved: it is dear,
// and an older one of the sequence is as right.
func (b *ownBound) of(n, bad int, aim, alpha float64) float64 {
	if b.N == 0 || bad != b.Bad || n >= b.N+b.N/32+1 {
		s := eprocess.NewShare(aim)
		s.N, s.Differing = n, bad
		b.High, b.N, b.Bad = s.High(alpha), n, bad
	}
	return b.High
}

func (b *ownBound) valid() bool { return b.High >= 0 && b.High <= 1 && eprocess.UpTo(b.Bad, b.N) }

func (m *mismatch) valid() bool {
	ok := m.Bound.valid() && m.Moved.valid() && eprocess.UpTo(m.Bad, m.Count) && eprocess.UpTo(m.OwnBad, m.Own) && eprocess.UpTo(m.OwnMoved, m.Own) &&
		m.Steady.Arms.Valid() && m.Steady.Plays >= 0
	for i := range m.All {
		ok = ok && m.All[i].Arms.Valid() && m.All[i].Plays >= 0 && m.Repeated[i].Valid()
	}
	return ok
}

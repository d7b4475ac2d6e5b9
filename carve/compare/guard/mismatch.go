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
//     coin, whatever the rate does. Source: bets;
//   - all exchanges: against the limit plus an upper bound on how often the
//     monolith differs from itself. Source: arms.single; the bound is a
//     confidence sequence, wrong with a tenth of the level at most (share).
//
// A place where the monolith was seen to vary is noise, and neither test counts it.
// So the last tenth is a third test, of served exchanges:
//
//   - steady places: where the monolith varies in few of its repeats (rareNoise),
//     differences count whatever was learned. Hypothesis: given the past, at most
//     steadyLimit of the compared responses differ there. Data that move between the
//     two sides' responses come nowhere near it; a candidate that is wrong at that
//     place as a rule passes it. Source: arms.single.
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
	// differed.
	Own    int `json:"own"`
	OwnBad int `json:"own_bad"`

	// Bound is the upper bound on the monolith's own rate when it had been asked
	// again BoundOwn times and had differed BoundBad times.
	Bound    float64 `json:"bound"`
	BoundOwn int     `json:"bound_own"`
	BoundBad int     `json:"bound_bad"`

	odds eprocess.FixedOdds // of All
}

func newMismatch() mismatch {
	return mismatch{Repeated: [2]eprocess.Bets{eprocess.NewBets(), eprocess.NewBets()}}
}

// restart forgets the candidate and keeps the monolith.
func (m *mismatch) restart() {
	own, bad := m.Own, m.OwnBad
	*m = newMismatch()
	m.Own, m.OwnBad = own, bad
}

// logEValue is the logarithm of what the five have made of their parts.
func (m *mismatch) logEValue() float64 {
	sum := eprocess.LogSum(m.All[0].LogEValue(), m.All[1].LogEValue())
	if w := m.Repeated[0].Now + m.Repeated[1].Now; w > 0 {
		sum = eprocess.LogSum(sum, math.Log(w))
	}
	return eprocess.LogSum(sum+math.Log(mismatchPart), m.Steady.LogEValue()+math.Log(steadyPart))
}

const (
	// mismatchPart is each of four tests' part of the wealth, steadyPart the fifth's.
	mismatchPart, steadyPart = 0.225, 0.1
	// steadyLimit is which share of the compared responses may differ where the
	// monolith seldom varies.
	steadyLimit = 0.5
)

// pairMismatch takes a compared exchange. Failures are the errors guard's.
func (g *Guard) pairMismatch(p *whittle.Pair) {
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	m := &g.mismatch
	if g.shifting() {
		m.Count++
		if p.Differs {
			m.Bad++
		}
		if limit := g.mismatchLimit(); limit < 0.95 {
			bad := int(eprocess.Indicator(p.Differs))
			odds := m.odds.At(limit)
			m.All[p.First&1].Play(func(a *eprocess.Arms) { a.Against(odds, bad, 1-bad) })
		}
		if bad := int(eprocess.Indicator(p.Steady)); p.First == whittle.Candidate {
			m.Steady.Play(func(a *eprocess.Arms) { a.Single(steadyLimit, bad, 1-bad) })
		}
		if p.Repeated {
			b := &m.Repeated[p.First&1]
			payoff := eprocess.Indicator(p.Differs) - eprocess.Indicator(p.SelfDiffers) - g.cfg.Mismatch
			b.Bet(payoff/(1+g.cfg.Mismatch), g.level(), b.Rounds+1)
		}
		m.Breached = m.Breached || m.logEValue() >= math.Log(g.threshold())
	}
	if p.Repeated {
		m.Own++
		if p.SelfDiffers {
			m.OwnBad++
		}
	}
}

// mismatchLimit is the share of differences that nothing may be concluded from.
func (g *Guard) mismatchLimit() float64 {
	m := &g.mismatch
	if m.Own == 0 {
		return g.cfg.Mismatch
	}
	// The bound is found anew when it can have moved: it is dear, and an older one
	// of the sequence is as right.
	if m.BoundOwn == 0 || m.OwnBad != m.BoundBad || m.Own >= m.BoundOwn+m.BoundOwn/32+1 {
		s := eprocess.NewShare(max(g.cfg.Mismatch, 1e-3))
		s.N, s.Differing = m.Own, m.OwnBad
		_, m.Bound = s.Interval(0.1 * g.level())
		m.BoundOwn, m.BoundBad = m.Own, m.OwnBad
	}
	return m.Bound + g.cfg.Mismatch
}

func (m *mismatch) valid() bool {
	ok := m.Bound >= 0 && m.Bound <= 1 && m.Count >= 0 && m.Bad >= 0 && m.Bad <= m.Count && m.OwnBad >= 0 && m.OwnBad <= m.Own &&
		m.Steady.Arms.Valid() && m.Steady.Plays >= 0
	for i := range m.All {
		ok = ok && m.All[i].Arms.Valid() && m.All[i].Plays >= 0 && m.Repeated[i].Valid()
	}
	return ok
}

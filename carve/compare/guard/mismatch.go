package guard

import (
	"whittle"
	"whittle/carve/compare/eprocess"
)

// mismatch is the state of the test of differences.
//
// Equal services may differ: one of them is odd now and then, and an exchange differs whichever it
// was. The monolith's own repeats show how often. Hypothesis: the share of exchanges that differ is
// at most the limit plus an upper bound on how often the monolith differs from itself. Source:
// eprocess.Bets.SeeShare; the bound is a confidence sequence, wrong with OfReference of the level at
// most (eprocess.Share). Served and mirrored exchanges are tested apart, since a candidate that is
// right only when asked second must not be drowned in mirrored ones; the mean of the e-values is
// the meter's.
//
// A place where the monolith was seen to vary is noise, and is not counted: the judge asks about
// it. Where the monolith was never asked twice (mirror.repeat_every: 0) there is only the limit.
type mismatch struct {
	Tests     [2]eprocess.Bets `json:"tests"` // by the side asked first
	Candidate eprocess.Share   `json:"candidate"`
	Breached  bool             `json:"breached,omitempty"`
	// Own are the monolith's repeats, of all attempts, and those that differed.
	Own eprocess.Share `json:"own"`
	// Limit is the share of differences that nothing may be concluded from.
	Limit float64 `json:"limit"`
}

func newMismatch(limit float64, own eprocess.Share) mismatch {
	return mismatch{Limit: limit, Own: own, Tests: [2]eprocess.Bets{eprocess.NewBets(), eprocess.NewBets()}}
}

// bound finds the limit anew.
func (m *mismatch) bound(allowed, level float64) {
	m.Limit = allowed
	if m.Own.N > 0 {
		m.Limit += m.Own.High(eprocess.OfReference * level)
	}
}

func (m *mismatch) eValue() float64 {
	return min(eprocess.EValueCap, (m.Tests[0].Now+m.Tests[1].Now)/2)
}

// pairMismatch takes a compared exchange. Failures are the errors guard's.
func (g *Guard) pairMismatch(p *whittle.Pair) {
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	m := &g.Mismatch
	if g.shifting() {
		m.Candidate.See(p.Differs)
		test := &m.Tests[p.First&1]
		test.SeeShare(p.Differs, m.Limit, g.level(), test.Rounds+1)
		m.Breached = m.Breached || m.eValue() >= g.threshold()
	}
	if p.Repeated {
		m.Own.See(p.SelfDiffers)
		m.bound(g.cfg.Mismatch, g.level())
	}
}

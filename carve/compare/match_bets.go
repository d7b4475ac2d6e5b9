package compare

import (
	"slices"

	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/own"
)

// isOpen reports whether a mark counts as a difference: not declared, and not
// the monolith's own noise, unless the candidate was shown to do it more often.
func (m *match) isOpen(i int) bool {
	mk := m.marks[i]
	return mk.Expect < 0 && (mk.decided() || !m.noise.Learnt[mk.noise()])
}

func (m *match) anyOpen(list []int) bool {
	return slices.ContainsFunc(list, m.isOpen)
}

// test settles the present exchange in every test that it concerns.
func (m *match) test(repeated bool) {
	if !m.learn {
		for _, i := range m.cand {
			if mk := m.marks[i]; mk.Expect < 0 && mk.Born < m.n {
				mk.event(m.c.MaxDiffer, m.markAlpha(i), m.n)
			}
		}
		return
	}
	if !repeated {
		return
	}
	for _, k := range m.marks {
		m.gate(k)
	}
	for _, i := range m.cand {
		mk := m.marks[i]
		switch {
		case mk.Own || mk.Expect >= 0 || mk.Born >= m.n || m.forms.Replaces(mk.noise()):
		case !slices.Contains(m.self, i):
			m.bet(i, 1)
		case mk.learnable():
			mk.betFurther(m.markAlpha(i), m.n)
		}
	}
	for i, mk := range m.marks {
		if mk.contested() {
			mk.drift.See(mk.timesIn(m.cand, i, 0), mk.timesIn(m.self, i, 1))
		}
	}
	for _, i := range m.self {
		if mk := m.marks[i]; !mk.Own && mk.Born < m.n && !slices.Contains(m.cand, i) {
			m.bet(i, -1)
		}
	}
}

// markAlpha is the error rate of the mark at index i; the sum is alpha*OfPlaces.
func (m *match) markAlpha(i int) float64 {
	j := float64(i + 1)
	return m.alpha * eprocess.OfPlaces / (j * (j + 1))
}

// bet settles a repeated exchange in which one side differs from the monolith's first
// response and the other does not.
func (m *match) bet(i int, g float64) {
	mk := m.marks[i]
	if mk.Gated {
		mk.betGated(g, m.markAlpha(i), m.n)
	} else {
		mk.Pair.Bet(g, m.markAlpha(i), m.n)
	}
}

// gate has bets count without a gate only where the monolith seldom varies. What was won
// before it was known to vary often is void.
func (m *match) gate(k *mark) {
	often := k.learnable() && float64(k.Self) > own.Seldom*float64(m.repeats)
	if often && !k.Gated {
		k.Pair.Void()
	}
	k.Gated = often
}

// timesIn is at how many places the mark at index i differs on a side of the present
// exchange, whose marks are listed.
func (k *mark) timesIn(list []int, i, side int) int {
	if !slices.Contains(list, i) {
		return 0
	}
	return k.now[side]
}

// Where the monolith changes a place by itself, that the candidate changes it too is no
// difference. How much either changes of it still is evidence: given the monolith's first
// response, the candidate's and the monolith's second are exchangeable, so a bet on which
// of the two is further from the first wins nothing in the long run if the services are
// the same. Further is a response in which more places of the pattern differ: one price of
// a list changes by itself, the candidate gets another one wrong.
//
// That breaks where each server holds a state of its own that moves. The bet therefore counts
// only where the monolith's responses of other times, or moves, show that there is none
// (own.Drift). The gate is chosen from the past alone, so the error rate is the mark's where
// the hypothesis holds (Ville's inequality, as in match). Until it opens the bet is laid in
// Further, which decides nothing and keeps EQUIVALENT from being said.

// betFurther settles an exchange in which both sides differ from the monolith's first
// response.
func (k *mark) betFurther(alpha float64, n int) {
	if k.now[0] != k.now[1] {
		k.betGated(eprocess.Sign(float64(k.now[0]-k.now[1])), alpha, n)
	}
}

// betGated settles a payoff that counts only where it is shown that no state of each
// server's moves.
func (k *mark) betGated(g, alpha float64, n int) {
	if k.Further == nil {
		b := eprocess.NewBets()
		k.Further = &b
	}
	k.Further.Bet(g, alpha, n)
	if k.drift.NoState() {
		k.Pair.Bet(g, alpha, n)
	}
}

// isFurther reports whether the candidate seems to differ at more places than the
// monolith from itself, which is not shown.
func (k *mark) isFurther() bool {
	return k.Further != nil && k.Further.Now >= suspected && !k.decided()
}

package compare

import (
	"slices"

	"whittle/carve/compare/eprocess"
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
	if !m.learn || m.direct {
		for _, i := range m.cand {
			if mk := m.marks[i]; mk.Expect < 0 && mk.Born < m.n {
				mk.event(m.c.MaxDiffer, m.markAlpha(i), m.n)
				if m.direct {
					mk.Direct.bet(mk.How, m.markAlpha(i)*directPart, m.n)
				}
			}
		}
	}
	if !repeated || !m.learn && !m.direct {
		return
	}
	for _, k := range m.marks {
		if k.learnable() && k.State.Repeated(m.repeats, k.Self) {
			k.Pair.Void()
		}
	}
	for _, i := range m.cand {
		mk := m.marks[i]
		switch {
		case mk.Own || mk.Expect >= 0 || mk.Born >= m.n || m.forms.Replaces(mk.noise()):
		case !slices.Contains(m.self, i):
			m.bet(i, 1)
		case mk.State.Often():
			m.bet(i, eprocess.Sign(float64(mk.now[0]-mk.now[1])))
		}
	}
	for _, i := range m.self {
		if mk := m.marks[i]; !mk.Own && mk.Born < m.n && !slices.Contains(m.cand, i) {
			m.bet(i, -1)
		}
	}
}

// directPart is how much of what bets on repeats may spend those on direction may.
const directPart = 5. / 6

// markAlpha is the error rate of bets on repeats at the mark at index i; the sum, with those on
// direction, is alpha*places.
func (m *match) markAlpha(i int) float64 {
	if m.direct {
		return eprocess.OfNth(m.alpha*m.places/(1+directPart), i+1)
	}
	return eprocess.OfNth(m.alpha*m.places, i+1)
}

// bet settles a repeated exchange, by which of the candidate's response and the monolith's second
// one is further from the first: g is 1 for the candidate's. Given the first they are exchangeable,
// but not where each server holds a state of its own that moves little by little: two responses of
// one server are nearer to each other then. So where the monolith often varies nothing is decided;
// it keeps EQUIVALENT from being said (isFurther).
func (m *match) bet(i int, g float64) {
	mk, alpha := m.marks[i], m.markAlpha(i)
	if mk.State.Often() {
		alpha = 0
	}
	mk.Pair.Bet(g, alpha, m.n)
}

// isFurther reports whether the candidate seems to differ more often or at more places than the
// monolith from itself, where that often varies.
func (k *mark) isFurther() bool {
	return k.State.Often() && k.Pair.Now >= eprocess.Suspected && !k.decided()
}

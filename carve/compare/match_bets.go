package compare

import "slices"

// isOpen reports whether a mark counts as a difference: not declared, and not
// the monolith's own noise, unless the candidate was shown to do it more often.
func (m *match) isOpen(i int) bool {
	if i == beyond {
		return true
	}
	mk := m.marks[i]
	return mk.Expect < 0 && (mk.decided() || !m.noise.Learnt[mk.noise()])
}

func (m *match) anyOpen(list []int) bool {
	return slices.ContainsFunc(list, m.isOpen)
}

// test settles the present exchange in every test that it concerns.
func (m *match) test(candAny, selfAny, repeated bool) {
	if !m.learn {
		for _, i := range m.cand {
			if mk := m.marks[i]; mk.Expect < 0 && mk.Born < m.n {
				mk.event(m.c.MaxDiffer, m.markAlpha(i), m.n)
			}
		}
		if candAny {
			m.whole.event(m.c.MaxDiffer, m.alpha*wholePart, m.n)
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
			mk.drift.see(mk.timesIn(m.cand, i, 0), mk.timesIn(m.self, i, 1))
		}
	}
	for _, i := range m.self {
		if mk := m.marks[i]; !mk.Own && mk.Born < m.n && !slices.Contains(m.cand, i) {
			m.bet(i, -1)
		}
	}
	if candAny != selfAny {
		g := 1.0
		if selfAny {
			g = -1
		}
		m.whole.Pair.Bet(g, m.alpha*wholePart, m.n)
	}
}

// markAlpha is the error rate of the mark at index i; the sum is alpha*marksPart.
func (m *match) markAlpha(i int) float64 {
	j := float64(i + 1)
	return m.alpha * marksPart / (j * (j + 1))
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
	often := k.learnable() && float64(k.Self) > driftSeldom*float64(m.repeats)
	if often && !k.Gated {
		k.Pair.Void()
		m.whole.Pair.Void()
	}
	k.Gated = often
}

// timesIn is at how many places the mark at index i differs on a side of the present
// exchange, whose marks are listed.
func (k *mark) timesIn(list []int, i, side int) int {
	if !slices.Contains(list, i) {
		return 0
	}
	return k.now[side].times
}

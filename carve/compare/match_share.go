package compare

import "whittle"

// tell has the marks know of what was learned of noise since.
func (m *match) tell() {
	if m.told != m.noise.Version {
		m.told = m.noise.Version
		m.markOwn()
	}
}

// refresh brings the share of responses that differ up to date. Noise that is learned later
// explains what came before it. A response that differs at several places counts for each, so
// what it is shown to be is never too little.
func (m *match) refresh() {
	m.tell()
	n := 0
	for i, k := range m.marks {
		if m.isOpen(i) {
			n += k.Count
		}
	}
	m.share.N, m.share.Differing = m.n, min(n, m.n)
}

// differAim is the share of differing responses up to which EQUIVALENT may be said,
// at which the bound is sharpest.
func differAim(c whittle.Comparison) float64 {
	if c.MaxDiffer > 0 {
		return c.MaxDiffer
	}
	return unseenMargin
}

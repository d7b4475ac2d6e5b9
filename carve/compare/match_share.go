package compare

// tell has the marks know of what was learned of noise since.
func (m *match) tell() {
	if m.told != m.noise.Version {
		m.told = m.noise.Version
		m.markOwn()
	}
}

// refresh brings the share of responses that differ up to date. Noise that is learned later
// explains what came before it. There are at most as many as differed when they came, unless
// what was noise then is shown to be none, and at most as many as all open places count
// together; so what it is shown to be is never too little.
func (m *match) refresh() {
	m.tell()
	sum, most := 0, m.opened
	for i, k := range m.marks {
		if m.isOpen(i) {
			sum += k.Count
			if m.noise.Learnt[k.noise()] {
				most = m.n
			}
		}
	}
	m.share.N, m.share.Differing = m.n, min(sum, most)
}

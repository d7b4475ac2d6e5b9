package compare

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
)

// refresh brings the share up to date where noise was learned since.
func (m *match) refresh() {
	if m.counted != m.noise.Version {
		m.counted = m.noise.Version
		m.markOwn()
		m.recount()
	}
}

// differAim is the share of differing responses up to which EQUIVALENT may be said,
// at which the bound is sharpest.
func differAim(c whittle.Comparison) float64 {
	if c.MaxDiffer > 0 {
		return c.MaxDiffer
	}
	return unseenMargin
}

// account adds the exchange to the share of responses that differ. The set of
// its marks is kept, so that noise learned later explains it in retrospect.
func (m *match) account() {
	m.share.N = m.n
	list := slices.DeleteFunc(m.cand, func(i int) bool { return m.marks[i].Expect >= 0 })
	m.cand = list
	if len(list) == 0 {
		return
	}
	key := comboKey(list)
	if _, known := m.combos[key]; !known && len(m.combos) >= maxCombos {
		key = comboKey(m.inShort(list))
	}
	m.combos[key]++
	if m.anyOpen(list) {
		m.share.Differing++
	}
	for _, i := range list {
		if m.marks[i].decided() && !m.marks[i].counted {
			m.marks[i].counted = true
			m.recount()
		}
	}
}

// inShort is what is remembered of an exchange's marks where there are too many
// different sets of them: the first that counts as a difference, and whether there
// are others, which stay differences whatever is learned later.
func (m *match) inShort(list []int) []int {
	open := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return !m.isOpen(i) })
	switch len(open) {
	case 0:
		return list[:1]
	case 1:
		return open
	}
	return []int{open[0], beyond}
}

// recount brings the share up to date after what counts as noise has changed.
func (m *match) recount() {
	s := 0
	for key, n := range m.combos {
		if m.anyOpen(comboMarks(key)) {
			s += n
		}
	}
	m.share.Differing = s
}

// comboKey names a set of marks: "3,17,".
func comboKey(list []int) string {
	var b []byte
	for _, i := range list {
		b = append(strconv.AppendInt(b, int64(i), 10), ',')
	}
	return string(b)
}

func comboMarks(key string) (list []int) {
	for part := range strings.SplitSeq(strings.TrimSuffix(key, ","), ",") {
		if i, err := strconv.Atoi(part); err == nil {
			list = append(list, i)
		}
	}
	return list
}

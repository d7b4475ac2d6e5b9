package compare

import (
	"strings"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// boundNoise is the name of the bound on what noise excuses.
const boundNoise = "noise"

// noiseBound bounds by how much more often than the monolith itself the candidate
// changes what was learned as noise, at the place where that is worst (noise.Beyond).
// Without this bound one change seen in one repeat would excuse a candidate that is wrong there in
// any share of responses, until the bets on repeats have found it. ok is false
// where nothing was learned; more is how many exchanges it still takes, -1 where
// it cannot be said.
//
// Both shares have a confidence sequence (eprocess.Share) at alpha/2, so the difference
// holds at all times at once with 1 − alpha. EQUIVALENT is wrong here only if the
// interval of the place that is outside its margin is wrong, so alpha is not
// split over the places (an intersection–union test, Berger 1982).
func (m *match) noiseBound(alpha float64) (b whittle.Bound, more int, ok bool) {
	list := m.changedByNoise()
	if len(list) == 0 {
		return b, 0, false
	}
	worst := noise.Worst(list, alpha)
	return worst.AsBound(boundNoise, alphaOf(m.c)), worst.Left(alpha), true
}

// changedByNoise counts what was learned and excuses a difference, in the order
// in which it was first seen.
func (m *match) changedByNoise() []noise.Changed {
	var list []noise.Changed
	for _, k := range m.marks {
		if !m.noise.Learnt[k.noise()] || k.Expect >= 0 || k.decided() || form.IsPiece(k.Path) && k.Direct == nil || m.forms.Replaces(k.noise()) {
			continue
		}
		c := noise.Changed{Path: m.pathWords(k.Path), Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
		if m.chosen {
			c.Candidate, c.N = k.Again, m.repeats
		}
		list = append(list, c)
	}
	return list
}

// rare reports whether the monolith was seen to vary at a place in few of its
// repeats, so that it is asked about like any other difference.
func (m *match) rare(k noise.Key) bool {
	return m.noise.Repeats >= own.Enough && float64(m.noise.Self[k]) <= own.Seldom*float64(m.noise.Repeats)
}

// learnCompared is after how many exchanges the candidate is called different although too few
// were repeated.
const learnCompared = 500 // exchanges

// learning reports whether too few requests have been repeated to tell noise
// from difference.
func (m *match) learning() bool {
	return m.learn && m.noise.Repeats < m.learnAfter && m.noise.N < learnCompared
}

// learnFrom takes what the monolith changed by itself as noise.
func (m *match) learnFrom(self []int) (learned bool) {
	for _, i := range self {
		if k := m.marks[i]; k.Direct == nil || k.Expect < 0 {
			learned = m.learnOf(k.markKey) || learned
		}
	}
	m.tell()
	return learned
}

// learnOf takes a difference of the monolith's own as noise. What varies in form varies in value.
func (m *match) learnOf(k markKey) bool {
	if !k.learnable() || !m.forms.Teaches(k.noise()) {
		return false
	}
	if k.How == howForm {
		m.noise.Learn(noise.Key{Path: k.Path, Way: jsondiff.HowValue})
	}
	return m.noise.Learn(k.noise())
}

// Varies implements method. What it teaches does not count among the repeats,
// which are drawn by chance.
func (m *match) Varies(a, b *whittle.Response) {
	if !m.learn || !header.Usable(b, a) {
		return
	}
	m.readBy(a)
	for learned := true; learned; { // once more for the pieces of what is known to vary now
		learned = false
		for _, d := range m.diff(a.Body, b.Body) {
			learned = d.Expect < 0 && m.learnOf(markKey{Path: d.Path, How: d.How, Expect: d.Expect}) || learned
		}
	}
	m.tell()
}

// Where the monolith changes a text by itself, what it does not change of it is compared by
// piece: the user in a sentence with a time, the subject of a token, the object of a signed
// link. Each piece is a place of its own, with noise of its own, learned from the same
// repeats, asked about and watched like any other.

// diff lists how two bodies differ, and the pieces of texts that are known to vary. The list
// is valid until the next comparison.
func (m *match) diff(a, b []byte) []jsondiff.Difference {
	list := m.differ.Diff(a, b)
	if m.direct {
		list = m.directWays(list, a, b)
	}
	if !m.learn || m.kind == whittle.FoundBody {
		return list
	}
	list = list[:len(list):len(list)]
	for i := range list {
		if d := &list[i]; d.How == jsondiff.HowValue && d.Expect < 0 && m.varies(d) {
			list = append(list, m.piecesOf(d, a, b)...)
		}
	}
	return list
}

func (m *match) varies(d *jsondiff.Difference) bool {
	k := noise.Key{Path: d.Path, Way: jsondiff.HowValue}
	return m.noise.Learnt[k] && !m.noise.Own[k] && !m.forms.Excuses(k)
}

// piecesOf are the pieces in which two texts differ that have the same ones.
func (m *match) piecesOf(d *jsondiff.Difference, a, b []byte) (list []jsondiff.Difference) {
	from, to := m.differ.Values(d, a, b)
	a, _ = jsondoc.Unquote(nil, from)
	b, _ = jsondoc.Unquote(nil, to)
	x, between := form.Pieces(a)
	y, as := form.Pieces(b)
	if x == nil || between != as {
		return nil
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		one := *d
		one.Path, one.Times = form.PieceOf(d.Path, i), 1
		if _, known := m.index[markKey{Path: one.Path, How: one.How, Expect: one.Expect}]; !known && len(m.marks) >= maxMarks/2 {
			continue
		}
		if strings.Contains(d.From, x[i]) && strings.Contains(d.To, y[i]) { // they may be shown
			one.From, one.To = x[i], y[i]
		}
		list = append(list, one)
	}
	return list
}

// diffShown is diff with words for what differs.
func (m *match) diffShown(monolith, candidate []byte) []jsondiff.Difference {
	m.differ.Quiet = false
	defer func() { m.differ.Quiet = true }()
	return m.diff(monolith, candidate)
}

// seeForms has the form of what varies compared in the present exchange.
func (m *match) seeForms(x *whittle.Exchange, repeated bool) {
	if m.kind == whittle.FoundBody {
		return
	}
	m.forms.Timeless = m.chosen
	var again []byte
	if repeated {
		again = x.Repeat.Body
	}
	m.forms.Learn(m.noise.Learnt, m.n)
	m.forms.See(x, again, m.alpha*(1-m.places), m.n)
}

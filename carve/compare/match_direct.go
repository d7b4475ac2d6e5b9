package compare

import (
	"cmp"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
)

// direction is the evidence on which side says what. The hypothesis: the two sides' responses are
// exchangeable given the request and the past, so that each of two values that differ is as
// likely to be the candidate's. It needs no repeats. It speaks only where one side never has the
// header, or the same two values come again and again and never change places: two counters do
// neither, nor do random values, however they are distributed, nor a state of each server's that
// moves. What the monolith changes by itself it does not show either. Forms may take turns.
type direction struct {
	Bets eprocess.Bets           `json:"bets"`
	Lean [header.LeanSlots]int32 `json:"lean,omitzero"`
	// Pair is what the two sides said first, without saying who did, and Side who; Broken says
	// that they said something else since, or changed places. Noisy says that the monolith does.
	Pair   uint64 `json:"pair,omitempty"`
	Side   int32  `json:"side,omitempty"`
	Broken bool   `json:"broken,omitempty"`
	Noisy  bool   `json:"noisy,omitempty"`
	// Declared says that some change there is, so that not all directions are seen.
	Declared bool `json:"declared,omitempty"`

	now direct
}

// direct is what the two sides say in the present exchange, without saying who does, and who.
type direct struct {
	pair uint64
	side int32
}

// directOf says what two sides say at a difference.
func directOf(how string, from, to []byte) direct {
	o := direct{pair: 1, side: 1}
	switch {
	case from == nil:
		o.side = -1
		return o
	case to == nil:
		return o
	}
	a, b := string(from), string(to)
	if how == howForm {
		a, b = shapeOf(from), shapeOf(to)
	}
	if a > b {
		a, b, o.side = b, a, -1
	}
	var h digest.Hash
	h.Text(a)
	h.Text(b)
	o.pair = uint64(h) | 1
	return o
}

// bet settles a difference of the candidate's.
func (d *direction) bet(how string, alpha float64, n int) {
	switch {
	case d.Pair == 0:
		d.Pair, d.Side = d.now.pair, d.now.side
	case d.Pair != d.now.pair || d.Side != d.now.side:
		d.Broken = true
	}
	slot := &d.Lean[digest.Mix(d.now.pair)%header.LeanSlots]
	if !d.Declared && (!d.Broken || how == howForm) {
		d.Bets.Bet(float64(int32(cmp.Compare(*slot, 0))*d.now.side), alpha, n)
	}
	*slot = max(-1<<20, min(1<<20, *slot+d.now.side))
}

// directedAt is the exchange at which a header's difference was shown, by direction or by repeats,
// to come more often than the config allows; 0: it is not.
func (k *mark) directedAt() int {
	if k.RateAt == 0 || k.Own || k.isExplained() {
		return 0
	}
	at, fast := k.Pair.At, k.Direct.Bets.At
	if d := k.Direct; fast > 0 && !d.Noisy && (!d.Broken || k.How == howForm) && (at == 0 || fast < at) {
		at = fast
	}
	if at == 0 {
		return 0
	}
	return max(at, k.RateAt)
}

// howForm is another form of a header's value: one that differs in more than what services make
// for each response.
const howForm = "form"

func shapeOf(quoted []byte) string {
	text, _ := jsondoc.Unquote(nil, quoted)
	return form.Shape(string(text))
}

// headerWays has the ways in which headers differ: present or not, another form, another value.
func (m *match) headerWays(list []jsondiff.Difference, a, b []byte) []jsondiff.Difference {
	for i := range list {
		switch d := &list[i]; d.How {
		case jsondiff.HowMissing, jsondiff.HowExtra:
			d.How = jsondiff.WayPresence
		case jsondiff.HowValue:
			if from, to := m.differ.Values(d, a, b); shapeOf(from) != shapeOf(to) {
				d.How = howForm
			}
		}
	}
	return list
}

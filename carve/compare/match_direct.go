package compare

import (
	"slices"

	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
)

// direction is the evidence on which side says what. It speaks only where one side never has the
// value, or the same two values come again and again and never change places: two counters do
// neither, nor do random values, however they are distributed, nor a state of each server's that
// moves. What the monolith changes by itself it does not show either. Forms may take turns.
type direction struct {
	header.Lean
	// Pair is what the two sides said first, without saying who did, and Side who; Broken says
	// that they said something else since, or changed places. Noisy says that the monolith does.
	Pair   uint64 `json:"pair,omitempty"`
	Side   int    `json:"side,omitempty"`
	Broken bool   `json:"broken,omitempty"`
	// Any says that other values each time are bet on as well, as in words around a random number.
	Any   bool `json:"any,omitempty"`
	Noisy bool `json:"noisy,omitempty"`

	now      header.Opposed
	declared bool // now, so that not all directions are seen
}

// directOf has what two sides say at a difference.
func directOf(d *jsondiff.Difference, from, to []byte) header.Opposed {
	switch {
	case from == nil:
		return header.Opposed{Pair: 1, Side: -1}
	case to == nil:
		return header.Opposed{Pair: 1, Side: 1}
	case d.How == howForm:
		return header.OpposedOf(shapeOf(from), shapeOf(to))
	case d.How == jsondiff.HowLength:
		return header.OpposedOf(d.From, d.To)
	}
	if _, ok := jsondiff.TypesOf(d.How); ok {
		a, _ := jsondoc.KindOf(from)
		b, _ := jsondoc.KindOf(to)
		return header.OpposedOf(jsondoc.KindNames[a], jsondoc.KindNames[b])
	}
	return header.OpposedOf(string(from), string(to))
}

// isDeclaredAt reports whether a declaration covers one of an exchange's differences at a place, or one
// that there would be if the two sides changed places.
func (m *match) isDeclaredAt(path string, ds []jsondiff.Difference) bool {
	return m.differ.Declared() > 0 && (path == jsondiff.ManyPaths || slices.ContainsFunc(ds, func(d jsondiff.Difference) bool {
		return d.Path == path && (d.Expect >= 0 || d.Reversed)
	}))
}

// bet settles a difference of the candidate's.
func (d *direction) bet(how string, alpha float64, n int) {
	if d.declared {
		return
	}
	switch {
	case d.Any:
		d.now.Pair = 1
	case d.Pair == 0:
		d.Pair, d.Side = d.now.Pair, d.now.Side
	case d.Pair != d.now.Pair || d.Side != d.now.Side:
		d.Broken = true
	}
	if !d.Broken || how == howForm {
		d.Bet(d.now, 0, alpha, n)
	}
}

// directedAt is the exchange at which a header's difference was shown, by direction or by repeats,
// to come more often than the config allows; 0: it is not.
func (k *mark) directedAt() int {
	if k.Rate.At == 0 || k.Own || k.isExplained() {
		return 0
	}
	at, fast := k.Pair.At, k.Direct.Bets.At
	if d := k.Direct; fast > 0 && !d.Noisy && (!d.Any || k.Self == 0) && (!d.Broken || k.How == howForm) && (at == 0 || fast < at) {
		at = fast
	}
	if at == 0 {
		return 0
	}
	return max(at, k.Rate.At)
}

// howForm is another form of a header's value: one that differs in more than what services make
// for each response.
const howForm = "form"

func shapeOf(quoted []byte) string {
	text, _ := jsondoc.Unquote(nil, quoted)
	return form.Shape(string(text))
}

// directWays has the ways to differ that stay when the two sides change places: present or not,
// another form, another value.
func (m *match) directWays(list []jsondiff.Difference, a, b []byte) []jsondiff.Difference {
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

package distribution

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
)

// wording reports whether two responses are the same but for the number whose distribution is
// compared. The number's place is known where it is a text's first one, or where
// compare.value is a path into JSON; with any other expression no number is
// looked at.
type wording struct {
	text jsondiff.Exact
	json *jsondiff.JSON
	// asJSON says that the number is read from JSON, whatever the content type;
	// first that it is the first of a text.
	asJSON, first bool
	expects       bool // some differences are declared
}

// aPath is a value expression that is a path into the response's JSON.
var aPath = regexp.MustCompile(`^(?:float\(|int\(|)json((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\["[^"\\]*"\])*)\)?$`)

func newWording(c whittle.Comparison, r *reader) (wording, error) {
	expect, err := jsondiff.NewExpectations(c, whittle.FoundBody)
	if err != nil {
		return wording{}, err
	}
	fields, err := jsondiff.NewExpectations(c, whittle.FoundField)
	if err != nil {
		return wording{}, err
	}
	rules := whittle.Comparison{Ignore: c.Ignore}
	found := aPath.FindStringSubmatch(strings.TrimSpace(c.Value))
	if found != nil {
		rules.Ignore = append(rules.Ignore[:len(rules.Ignore):len(rules.Ignore)], "$"+found[1])
	}
	j, err := jsondiff.NewJSON(rules, append(fields, expect...))
	if err != nil {
		return wording{}, err
	}
	j.AnyNumber = found == nil
	return wording{text: jsondiff.Exact{Expect: expect}, json: j, asJSON: r.valueReads["json"], first: r.value == nil, expects: len(expect)+len(fields) > 0}, nil
}

func (w *wording) showBy(d *display.View) { w.text.Show, w.json.Show = d, d }

// differ gives the difference to judge by; nil where the two sides say the same.
// It is one that nobody declared, where there is one. fair says that it may be bet
// on: it is the first by path of those that nobody declared in either direction,
// so it is at the same path when the responses change places.
func (w *wording) differ(a, b *whittle.Response) (d *jsondiff.Difference, fair bool) {
	if bytes.Equal(a.Body, b.Body) || w.sameText(a.Body, b.Body) {
		return nil, false
	}
	list := slices.Clone(w.list(a, b)) // which is the other direction's next
	if len(list) == 0 {
		return nil, false
	}
	declared := map[string]bool{}
	if w.expects {
		for _, way := range [][]jsondiff.Difference{list, w.list(b, a)} {
			for i := range way {
				declared[way[i].Path] = declared[way[i].Path] || way[i].Expect >= 0
			}
		}
	}
	for i := range list {
		if one := &list[i]; one.Expect < 0 && !declared[one.Path] && (d == nil || one.Path < d.Path) {
			d = one
		}
	}
	if fair = d != nil; !fair {
		d = &list[max(0, slices.IndexFunc(list, func(d jsondiff.Difference) bool { return d.Expect < 0 }))]
	}
	// The bets are fair only if the words change places when the responses do.
	if d.From == d.To || d.How == jsondiff.HowOrder {
		d.From, d.To = d.From+header.OneSuffix, d.From+header.AnotherSuffix
		if bytes.Compare(a.Body, b.Body) > 0 {
			d.From, d.To = d.To, d.From
		}
	}
	return d, fair
}

// sides are by what two responses are compared, and what of them: their JSON, or their texts
// with a sign in the place of each number.
func (w *wording) sides(a, b *whittle.Response) (in jsondiff.Differ, x, y []byte) {
	if w.asJSON || saysJSON(a) && saysJSON(b) {
		return w.json, a.Body, b.Body
	}
	return &w.text, w.blanked(a.Body), w.blanked(b.Body)
}

// list are all differences, valid until the next call.
func (w *wording) list(a, b *whittle.Response) []jsondiff.Difference {
	in, x, y := w.sides(a, b)
	return in.Diff(x, y)
}

// spot is the place of a difference that differ gave.
func (w *wording) spot(of *jsondiff.Difference, a, b *whittle.Response) display.Spot {
	in, x, y := w.sides(a, b)
	list := in.Diff(x, y)
	i := slices.IndexFunc(list, func(d jsondiff.Difference) bool { return d.Path == of.Path && d.How == of.How })
	if i < 0 {
		return display.Spot{}
	}
	return in.Spot(&list[i], x, y)
}

// sameText is the quick look at texts that differ in their first number only.
func (w *wording) sameText(a, b []byte) bool {
	i, endA, _ := numberAt(a)
	j, endB, _ := numberAt(b)
	return w.first && bytes.Equal(a[:i], b[:j]) && bytes.Equal(a[endA:], b[endB:])
}

// blanked is a text with a sign in the place of the number, or of all of them.
func (w *wording) blanked(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for {
		start, end, ok := numberAt(b)
		if !ok {
			return append(out, b...)
		}
		out = append(append(out, b[:start]...), '#')
		if b = b[end:]; w.first {
			return append(out, b...)
		}
	}
}

func saysJSON(a *whittle.Response) bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(kind)), "json")
}

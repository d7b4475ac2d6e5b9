package compare

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"whittle"
)

// wording tells whether two answers are the same but for the number whose law is
// compared. The number's place is known where it is a text's first one, or where
// compare.value is a path into JSON; with any other expression no number is
// looked at.
type wording struct {
	text exact
	json *jsonDiffer
	// asJSON says that the number is read from JSON, whatever the content type;
	// first that it is the first of a text.
	asJSON, first bool
}

// aPath is a value expression that is a path into the answer's JSON.
var aPath = regexp.MustCompile(`^(?:double\(|int\(|)json((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\["[^"\\]*"\])*)\)?$`)

func newWording(c whittle.Comparison, r *reader) (wording, error) {
	expect, err := newExpectations(c, whittle.FoundBody)
	if err != nil {
		return wording{}, err
	}
	fields, err := newExpectations(c, whittle.FoundField)
	if err != nil {
		return wording{}, err
	}
	rules := whittle.Comparison{Ignore: c.Ignore}
	found := aPath.FindStringSubmatch(strings.TrimSpace(c.Value))
	if found != nil {
		rules.Ignore = append(rules.Ignore[:len(rules.Ignore):len(rules.Ignore)], "$"+found[1])
	}
	j, err := newJSONDiffer(rules, append(fields, expect...))
	if err != nil {
		return wording{}, err
	}
	j.anyNumber = found == nil
	return wording{text: exact{expect: expect}, json: j, asJSON: r.valueReads["json"], first: r.value == nil}, nil
}

func (w *wording) showBy(d *display) { w.text.show, w.json.show = d, d }

// differ gives the first difference that nobody declared, or the first one where
// all are declared; nil where the two sides say the same.
func (w *wording) differ(a, b *whittle.Answer) *difference {
	if bytes.Equal(a.Body, b.Body) {
		return nil
	}
	var list []difference
	if w.sameText(a.Body, b.Body) {
		return nil
	}
	if w.asJSON || saysJSON(a) && saysJSON(b) {
		list = w.json.diff(a.Body, b.Body)
	} else {
		list = w.text.diff(w.blanked(a.Body), w.blanked(b.Body))
	}
	if len(list) == 0 {
		return nil
	}
	d := &list[max(0, slices.IndexFunc(list, func(d difference) bool { return d.expect < 0 }))]
	// The bets are fair only if the words change places when the answers do.
	if d.from == d.to || d.how == howOrder {
		d.from, d.to = d.from+" (one)", d.from+" (another)"
		if bytes.Compare(a.Body, b.Body) > 0 {
			d.from, d.to = d.to, d.from
		}
	}
	return d
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

func saysJSON(a *whittle.Answer) bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(kind)), "json")
}

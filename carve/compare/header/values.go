package header

import (
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
)

// values compares by form what the monolith changes by itself in headers, as Cookies does
// with the values of cookies: a nonce, a state in an address, a number. Each header that was
// learned as noise is a place, and of an address each piece that was. None is shown.
type values struct {
	*form.Forms
	places  map[string]bool
	headers []string // that the places are of
	version int      // of the noise that was taken up
	kept    keptSpan
}

func newValues(show *display.View) *values {
	v := &values{places: map[string]bool{}}
	v.Forms = form.NewNamed(show, form.Named{Vary: true, Sample: func(x *whittle.Exchange, path, from, to string) whittle.Sample {
		return formSample(show, headerOf(path), x, path, from, to)
	}})
	return v
}

// formSample shows the lines of a header, redacted, and the forms of the values at a place.
func formSample(show *display.View, header string, x *whittle.Exchange, path, from, to string) whittle.Sample {
	o := Pair{lines: []string{header}, Exchange: x, Show: show}
	s := o.linesSample()
	s.Where, s.MonolithValue, s.CandidateValue = path, from, to
	return s
}

// seeValues takes exchange n, in which the status is the same.
func (h *Headers) seeValues(x *whittle.Exchange, again *whittle.Response, alpha float64, n int) {
	v := h.values
	if !h.withNoise {
		return
	}
	if v.version != h.noise.version {
		v.version = h.noise.version
		v.take(h, n)
	}
	h.takeExpires(x, n)
	if len(v.headers) == 0 {
		return
	}
	v.Timeless = h.chosen
	v.Begin()
	v.give(form.Monolith, v.lasting(x, &x.Monolith), x)
	v.give(form.Candidate, v.lasting(x, &x.Candidate), x)
	if again != nil {
		v.give(form.Repeat, v.lasting(x, again), x)
	}
	v.Settle(x, again != nil, alpha, n)
}

// take makes places of what was learned as noise, in an order that depends on nothing else.
func (v *values) take(h *Headers, n int) {
	for _, name := range slices.Sorted(maps.Keys(h.noise.ways)) {
		if h.noise.ways[name][headerValue] && !v.places[name] && h.hasForm(name) {
			v.Name(name, n)
			v.place(name)
		}
	}
}

// place takes note of a place.
func (v *values) place(name string) {
	v.places[name] = true
	if name = headerOf(name); !slices.Contains(v.headers, name) {
		v.headers = append(v.headers, name)
	}
}

// hasForm reports whether a header's value is compared by form: not of what is compared by
// whether it is there, of cookies, and of what the config declares. An address is by piece.
func (h *Headers) hasForm(name string) bool {
	whole := headerOf(name)
	piece := whole != name
	if name == OtherHeaders || whole == SetCookie || addressed(whole) != piece || !h.c.ComparesHeader(configured(whole)) || whittle.ComparedOnRequest(whole) || h.isOwn(name) {
		return false
	}
	return !slices.ContainsFunc(h.expect, func(e headerExpectation) bool { return e.Path == "" || strings.EqualFold(e.Path, whole) })
}

// give takes what one side says.
func (v *values) give(side int, header whittle.Header, x *whittle.Exchange) {
	for _, name := range v.headers {
		list := header[name]
		if len(list) == 0 || name == expires && !v.kept.constant() {
			continue
		}
		said := strings.TrimSpace(strings.Join(list, ", "))
		if !addressed(name) {
			v.Give(side, name, []byte(said), x)
			continue
		}
		pieces(name, said, func(piece, word string) {
			if _, value, ok := strings.Cut(word, "="); ok && word[0] == '?' {
				word = value
			}
			if place := name + pieceOf + piece; v.places[place] {
				v.Give(side, place, []byte(strings.TrimPrefix(word, "/")), x)
			}
		})
	}
}

// findings are those of headers.
func (v *values) findings() []whittle.Finding {
	list := v.Findings()
	for i := range list {
		list[i].Kind, list[i].Summary, list[i].Cause = whittle.FoundHeader, "header "+list[i].Summary, ownCause(&list[i])
	}
	return list
}

// ownCause says how a header is left out that a form's cause would have declared.
func ownCause(f *whittle.Finding) string {
	if f.Cause == "" {
		return ""
	}
	return "if it is each side's own, " + exceptWords(f.Path) + "; if not, the candidate's is wrong"
}

// boundValues is the name of the bound that waits for headers to be compared by form.
const boundValues = "header form"

func (v *values) bound(n int) (b whittle.Bound, more int, ok bool) {
	b, more, ok = v.Bound(n)
	b.ID, b.What = boundValues, boundValues
	b.Summary = "header " + b.Summary
	return b, more, ok
}

// cover adds what is compared by form to what a verdict says that it stands on.
func (v *values) cover(c *whittle.Coverage) {
	own := v.Coverage(&whittle.Comparison{})
	if len(own.ByForm)+len(own.NotCompared) == 0 {
		return
	}
	for _, f := range own.ByForm {
		if f.Path == expires && !v.kept.constant() {
			continue // no longer
		}
		f.Path = "header " + f.Path
		c.ByForm = append(c.ByForm, f)
	}
	for _, f := range own.NotCompared {
		f.Path = "header " + f.Path
		c.NotCompared = append(c.NotCompared, f)
	}
}

// restored are values with what state gave.
func (v *values) restored(b []byte, n int) (*values, error) {
	u := newValues(v.Show)
	if err := u.Restore(b, n); err != nil {
		return nil, err
	}
	for _, name := range u.Places() {
		u.place(name)
	}
	return u, nil
}

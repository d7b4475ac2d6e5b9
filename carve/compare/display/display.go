// Package display formats the evidence in findings: values with invisible characters spelt out, samples
// of exchanges, figures. All that it shows of an exchange is redacted and bounded.
package display

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
	"whittle/internal/jsonpath"
	"whittle/internal/units"
)

// Redactor replaces secrets in the parts of exchanges that are kept and shown. Equal secrets must become
// equal tokens, so that differences stay visible. No method may change its input.
type Redactor interface {
	Request(*whittle.Request)
	Response(*whittle.Response)
	// Value is one JSON value, or the beginning of one, at a place in a body.
	Value(place []jsonpath.Element, v []byte) []byte
}

// View makes what a finding shows of an exchange. Comparison uses the original responses; only what is
// shown is redacted. Nil redacts nothing.
type View struct {
	redactor Redactor
	whole    *whittle.Exchange
}

// RedactBy sets the redactor of all that is shown from now on.
func (d *View) RedactBy(with Redactor) { d.redactor = with }

// Redacts reports whether there is a redactor.
func (d *View) Redacts() bool { return d != nil && d.redactor != nil }

// RedactRequest removes secrets from a request.
func (d *View) RedactRequest(q *whittle.Request) {
	if d.Redacts() {
		d.redactor.Request(q)
	}
}

// RedactResponse removes secrets from a response.
func (d *View) RedactResponse(a *whittle.Response) {
	if d.Redacts() {
		d.redactor.Response(a)
	}
}

// HeaderValue is the value of a header, redacted.
func (d *View) HeaderValue(name, value string) string {
	a := whittle.Response{Header: whittle.Header{name: {value}}}
	d.RedactResponse(&a)
	return a.Header.Get(name)
}

// Whole has an exchange shown in place of its part that is compared; nil: no longer.
func (d *View) Whole(x *whittle.Exchange) { d.whole = x }

// The bounds on what is shown of an exchange.
const (
	ValueShown = 64  // bytes of a value in a finding
	KeyShown   = 120 // bytes of a key in a path, which may be a namespace and a name
	BodyShown  = 200 // bytes of a body in a sample
	MaxSamples = 3   // samples of a finding, and names in a sentence
	MaxShown   = 20  // findings in a report
)

// ValueRead is how many bytes of a value are read to redact, explain or recognize it. It bounds the time.
const ValueRead = 4 << 10

// Value is a JSON value, or the beginning of several, fit to be shown.
func (d *View) Value(at []jsonpath.Element, v []byte) string {
	return d.Bounded(at, v, ValueShown)
}

// Bounded is Value with another bound.
func (d *View) Bounded(at []jsonpath.Element, v []byte, most int) string {
	if d.Redacts() && len(v) > 0 {
		v = d.redactor.Value(at, v[:min(len(v), ValueRead)])
	}
	return Visible(v, most)
}

// Bodies are two bodies fit to be shown; ok is false where they are not, or show no difference.
func (d *View) Bodies(a, b []byte) (_, _ []byte, ok bool) {
	if !d.Redacts() {
		return a, b, true
	}
	x, y := whittle.Response{Body: a}, whittle.Response{Body: b}
	d.RedactResponse(&x)
	d.RedactResponse(&y)
	return x.Body, y.Body, !x.Truncated && !y.Truncated && !bytes.Equal(x.Body, y.Body)
}

// Has reports whether a list has a sample of the same request.
func (d *View) Has(list []whittle.Sample, x *whittle.Exchange) bool {
	if len(list) == 0 {
		return false
	}
	request := d.request(x)
	return slices.ContainsFunc(list, func(s whittle.Sample) bool { return s.Request == request })
}

func (d *View) request(x *whittle.Exchange) string {
	q := x.Request
	d.RedactRequest(&q)
	request := q.Method + " " + q.Target
	if len(q.Body) > 0 {
		request += " " + string(q.Body[:min(len(q.Body), BodyShown)])
	}
	return Snippet([]byte(request), BodyShown)
}

// Sample is an exchange in short.
func (d *View) Sample(x *whittle.Exchange) whittle.Sample {
	if d != nil && d.whole != nil {
		x = d.whole
	}
	return whittle.Sample{
		At: x.At.Round(time.Millisecond).UTC(), Request: d.request(x),
		Monolith: d.Response(x.Monolith), Candidate: d.Response(x.Candidate),
	}
}

// SampleAt is Sample with the place that differs.
func (d *View) SampleAt(x *whittle.Exchange, at Spot) whittle.Sample {
	s := d.Sample(x)
	s.Where, s.MonolithValue, s.CandidateValue = at.Where, at.From, at.To
	return s
}

// Response is the body, or why there is none, without any secret text.
func (d *View) Response(a whittle.Response) string {
	if a.Failure != whittle.NoFailure && a.Detail != "" {
		return FailureWord(&a) + ": " + Snippet([]byte(d.Kept(nil, a.Detail)), BodyShown)
	}
	size := len(a.Body)
	d.RedactResponse(&a)
	if size > 0 && a.Body == nil {
		return fmt.Sprintf("(%d bytes that cannot be shown redacted)", size)
	}
	return Snippet(a.Body, BodyShown)
}

// Again redacts samples of an earlier process, which may have had fewer rules or none. Tokens stay. The
// samples are of one place.
func (d *View) Again(samples []whittle.Sample, at []jsonpath.Element) {
	for i := range samples {
		s := &samples[i]
		s.Request, s.Monolith, s.Candidate = d.Kept(nil, s.Request), d.Kept(nil, s.Monolith), d.Kept(nil, s.Candidate)
		s.Where = d.Kept(nil, s.Where)
		s.MonolithValue, s.CandidateValue = d.Kept(at, s.MonolithValue), d.Kept(at, s.CandidateValue)
		if d.Redacts() && !hasName(at) { // a body without names, which would say what it is
			s.MonolithValue, s.CandidateValue = "", ""
		}
	}
}

// hasName reports whether a place has a name that says what stands there.
func hasName(at []jsonpath.Element) bool {
	return slices.ContainsFunc(at, func(p jsonpath.Element) bool { return p.Key != nil })
}

// Kept is Again for a text kept of a place.
func (d *View) Kept(at []jsonpath.Element, s string) string {
	if !d.Redacts() || s == "" {
		return s
	}
	return string(d.redactor.Value(at, []byte(s)))
}

// Text is a sentence or a path without anything that has the shape of a secret.
func (d *View) Text(s string) string { return d.Kept(nil, s) }

// FailureWord is the outcome of a request in words, without any text of it.
func FailureWord(a *whittle.Response) string {
	if a.Failure == whittle.NoFailure {
		return "a response"
	}
	return "no response (" + string(a.Failure) + ")"
}

// Snippet makes bytes fit to be shown: bounded, valid UTF-8, without control characters.
func Snippet(b []byte, most int) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(b[:min(len(b), most)]))
	if len(b) > most {
		s = strings.TrimRight(s, string(utf8.RuneError)) + "…" // without half a letter
	}
	return s
}

// Spot is where an exchange differs, fit to be shown.
type Spot struct{ Where, From, To string }

// Visible writes at most most bytes so that different texts look different, with a sign if there are more.
// Control characters become ␊ and the like, bytes that are not UTF-8 \xe4, spaces at an end or next to each
// other ␠. Other spaces, marks without a width and separate accents become \u00a0, \u200b, \u0301.
func Visible(b []byte, most int) string {
	var out strings.Builder
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		word := visibleRune(b, i, r, n)
		if out.Len()+len(word) > most {
			return out.String() + "…"
		}
		out.WriteString(word)
		i += n
	}
	return out.String()
}

func visibleRune(b []byte, i int, r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, b[i])
	case r == ' ':
		if lonely(b, i-1, 0) || lonely(b, i+1, len(b)-1) {
			return "␠"
		}
		return " "
	case r < ' ':
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r >= 0x300 && r < 0x370, !unicode.IsPrint(r):
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(b[i : i+n])
}

// lonely reports whether a space next to position i could be overlooked: at the text's end, next to
// another space or a control character, or inside a quote at the end.
func lonely(b []byte, i, end int) bool {
	return i < 0 || i >= len(b) || b[i] <= ' ' || (b[i] == '"' && i == end)
}

// Figure writes a float with four significant digits, or an integer with all.
func Figure(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "no number"
	case math.Abs(f) >= 1e15 || f != 0 && math.Abs(f) < 1e-4:
		return strconv.FormatFloat(f, 'g', 4, 64)
	case f == math.Trunc(f) || math.Abs(f) >= 999.95: // without decimals
		return units.Grouped(int(math.RoundToEven(f)))
	}
	return strconv.FormatFloat(f, 'f', 3-int(math.Floor(math.Log10(math.Abs(f)))), 64)
}

// InPercent writes a share or a relative difference.
func InPercent(f float64) string {
	p := 100 * f
	digits := 0
	if a := math.Abs(p); a > 0 && a < 100 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(a)))))
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// Percent writes a share in percent.
func Percent(p float64) string {
	return strconv.FormatFloat(100*p, 'g', 4, 64) + " %"
}

// Reason is a declaration's reason, never empty.
func Reason(e whittle.Expectation) string {
	if e.Reason == "" {
		return "declared in the config"
	}
	return e.Reason
}

// Of says n of m.
func Of(n, m int) string { return fmt.Sprintf("%d of %d", n, m) }

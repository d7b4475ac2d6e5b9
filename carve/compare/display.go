package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/jsonpath"
)

// Redactor takes what is secret out of what is kept and shown of exchanges. The
// same secret must become the same token, so that what differs still does. None
// of its methods may change the bytes that it is given.
type Redactor interface {
	Request(*whittle.Request)
	Response(*whittle.Response)
	// Value is one JSON value, or the beginning of one, at a place in a body.
	Value(place []jsonpath.Element, v []byte) []byte
}

// display makes what a finding shows of an exchange. Whether two responses are
// the same is judged on what came; only what is shown is redacted.
type display struct{ redactor Redactor }

// Redact has what the judge shows and keeps of exchanges redacted from now on.
// Without it samples are as they came.
func (j *Judge) Redact(with Redactor) { j.show.redactor = with }

// redactable is what keeps or shows pieces of exchanges.
type redactable interface {
	showBy(*display)
	// showAgain redacts what was restored.
	showAgain()
}

// maxValueRead bounds what is redacted of a value of which much less is shown.
const maxValueRead = 4 << 10

// value is a JSON value, or several's beginning, fit to be shown.
func (d *display) value(at []place, v []byte) string {
	return d.bounded(at, v, valueShown)
}

// bounded is value with another bound.
func (d *display) bounded(at []place, v []byte, most int) string {
	if d != nil && d.redactor != nil && len(v) > 0 {
		v = d.redactor.Value(at, v[:min(len(v), maxValueRead)])
	}
	return visible(v, most)
}

// bodies are two bodies fit to be shown; ok is false where they are not, or
// where they differ in nothing that may be shown.
func (d *display) bodies(a, b []byte) (_, _ []byte, ok bool) {
	if d == nil || d.redactor == nil {
		return a, b, true
	}
	x, y := whittle.Response{Body: a}, whittle.Response{Body: b}
	d.redactor.Response(&x)
	d.redactor.Response(&y)
	return x.Body, y.Body, !x.Truncated && !y.Truncated && !bytes.Equal(x.Body, y.Body)
}

// sample is an exchange in short.
func (d *display) sample(x *whittle.Exchange) whittle.Sample {
	q := x.Request
	if d != nil && d.redactor != nil {
		d.redactor.Request(&q)
	}
	request := q.Method + " " + q.Target
	if len(q.Body) > 0 {
		request += " " + string(q.Body[:min(len(q.Body), bodyShown)])
	}
	return whittle.Sample{
		At: x.At.Round(time.Millisecond).UTC(), Request: snippet([]byte(request), bodyShown),
		Monolith: d.response(x.Monolith), Candidate: d.response(x.Candidate),
	}
}

// sampleAt is an exchange in short with the place that differs.
func (d *display) sampleAt(x *whittle.Exchange, at spot) whittle.Sample {
	s := d.sample(x)
	s.Where, s.MonolithValue, s.CandidateValue = at.where, at.from, at.to
	s.MonolithAround, s.CandidateAround = at.fromAround, at.toAround
	return s
}

// response is its body; where there is none, why not, which names no text of it
// that is secret.
func (d *display) response(a whittle.Response) string {
	if a.Failure != whittle.NoFailure && a.Detail != "" {
		return failureWord(&a) + ": " + snippet([]byte(d.kept(nil, a.Detail)), bodyShown)
	}
	size := len(a.Body)
	if d != nil && d.redactor != nil {
		d.redactor.Response(&a)
	}
	if size > 0 && a.Body == nil {
		return fmt.Sprintf("(%d bytes that cannot be shown redacted)", size)
	}
	return snippet(a.Body, bodyShown)
}

// again redacts what was kept by an earlier process, which may have known
// fewer rules, or none. What is a token already stays. The samples are of one
// place; what stood around it is no longer known by its names, so it is left out.
func (d *display) again(samples []whittle.Sample, at []place) {
	for i := range samples {
		s := &samples[i]
		s.Request, s.Monolith, s.Candidate = d.kept(nil, s.Request), d.kept(nil, s.Monolith), d.kept(nil, s.Candidate)
		s.Where = d.kept(nil, s.Where)
		s.MonolithValue, s.CandidateValue = d.kept(at, s.MonolithValue), d.kept(at, s.CandidateValue)
		if d != nil && d.redactor != nil {
			s.MonolithAround, s.CandidateAround = "", ""
			if !hasName(at) { // a piece of a text: what stood before it said what it is
				s.MonolithValue, s.CandidateValue = "", ""
			}
		}
	}
}

// hasName reports whether a place says by a name what stands there.
func hasName(at []place) bool {
	return slices.ContainsFunc(at, func(p place) bool { return p.Key != nil })
}

// kept is again for a text that was kept of a place.
func (d *display) kept(at []place, s string) string {
	if d == nil || d.redactor == nil || s == "" {
		return s
	}
	return string(d.redactor.Value(at, []byte(s)))
}

// placeOf reads a finding's path, such as $.items[*].phone, as one place that
// it names.
func placeOf(path string) (at []place) {
	for _, part := range strings.FieldsFunc(strings.TrimPrefix(path, "$"), func(c rune) bool { return strings.ContainsRune(`.[]"`, c) }) {
		if part == "*" {
			at = append(at, place{})
		} else {
			at = append(at, place{Key: []byte(part)})
		}
	}
	return at
}

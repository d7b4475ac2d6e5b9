// Package compare turns pairs of answers into findings and a verdict. It is
// pure: no I/O, no clock, no goroutine; what it says depends on the exchanges
// alone, in the order in which they came.
package compare

import (
	"mime"
	"strconv"
	"strings"

	"whittle"
)

// Judge compares the two answers of each exchange of one route and says what
// is known of the candidate. It is deterministic and not safe for concurrent
// use.
//
// What it promises: if both sides answer by the same law and independently of
// each other, the chance that it ever says DIFFERENT, looked at after every
// exchange, is at most 1 - Confidence.
type Judge struct {
	c      whittle.Comparison
	alpha  float64 // of each head
	method method
	show   *display

	// compared counts the exchanges with both answers; asked also those in
	// which the candidate gave none, and loose those of asked that differed
	// undeclared in status, content type, headers or by giving no answer; of random
	// answers also those that were wrong or unreadable by themselves, or said
	// something else around the number.
	compared, asked, loose int

	status, kind, failure head
	headers               headers
	novelty               novelty

	verdict *whittle.Verdict // nil: something came since
}

// NewJudge makes the judge of a route. A wrong expression or path is a
// *whittle.Error with code Invalid and Field relative to the route
// ("compare.per").
func NewJudge(c whittle.Comparison) (*Judge, error) {
	m, err := newMethod(c)
	if err != nil {
		return nil, err
	}
	show := &display{}
	m.(redactable).showBy(show)
	return &Judge{
		c: c, alpha: headPart * alphaOf(c), method: m, show: show,
		status: newHead(), kind: newHead(), failure: newHead(), headers: newHeaders(c, show), novelty: newNovelty(),
	}, nil
}

// RepeatsAreChosen says that the requests that are repeated are not drawn by
// chance from all, as those that a log has twice, so that what is seen of them
// holds for them alone.
func (j *Judge) RepeatsAreChosen() {
	if m, ok := j.method.(*match); ok {
		m.chosen = true
	}
}

// HeadersByRepeats says that another text of a header is to be shown by repeats
// alone, also where no noise is learned of bodies.
func (j *Judge) HeadersByRepeats() { j.headers.learns = true }

// Observe takes one exchange. One in which the monolith gave no answer, or a
// body was cut off, is not compared; but a status that differs differs whatever
// the bodies are, and a candidate's error that was not waited for is such a one.
func (j *Judge) Observe(x *whittle.Exchange) Observation {
	switch {
	case x.Monolith.Failure == whittle.FailedCanceled || x.Candidate.Failure == whittle.FailedCanceled:
		return Observation{Skip: whittle.SkipCanceled}
	case x.Monolith.Failure == whittle.FailedTooLarge, cutOff(x):
		return Observation{Skip: whittle.SkipTooLarge}
	}
	j.verdict = nil
	shape := shapeOf(&x.Request)
	j.novelty.see(shape)
	if x.Monolith.Failure != whittle.NoFailure {
		if x.Candidate.Failure == whittle.NoFailure {
			j.failure.Same.bet(-1, j.alpha, j.asked) // as a failure of the candidate wins
		}
		return Observation{Skip: whittle.SkipMonolith}
	}
	j.asked++
	failed, _ := j.seeHead(&j.failure, x, whittle.FoundFailure, shape, j.asked)
	if x.Candidate.Failure != whittle.NoFailure {
		j.loose += int(oneIf(failed))
		return Observation{Differs: failed}
	}
	j.compared++
	differs, same := j.seeHead(&j.status, x, whittle.FoundStatus, shape, j.compared)
	loose, other := false, false
	if same {
		differs, same = j.seeHead(&j.kind, x, whittle.FoundContentType, shape, j.compared)
		loose, other = j.headers.see(x, shape, headersLevel{j.limit(), j.alpha, j.compared})
	}
	if !same {
		j.loose += int(oneIf(differs || loose))
		return Observation{Differs: differs || other}
	}
	o := j.method.observe(x)
	switch {
	case o.Skip != "":
		j.compared--
		j.asked--
	case loose, o.Differs && j.c.Kind == whittle.Statistical:
		j.loose++
		o.Differs = o.Differs || other
	}
	return o
}

// cutOff reports whether half a body would have to be compared.
func cutOff(x *whittle.Exchange) bool {
	answered := x.Monolith.Failure == whittle.NoFailure && x.Candidate.Failure == whittle.NoFailure
	return (x.Monolith.Truncated || x.Candidate.Truncated) && (!answered || x.Monolith.Status == x.Candidate.Status)
}

// seeHead takes an exchange to one of the heads; it reports whether the two
// sides differ undeclared, and whether they are the same.
func (j *Judge) seeHead(h *head, x *whittle.Exchange, kind whittle.FindingKind, shape uint64, n int) (differs, same bool) {
	if x.Repeat == nil && alike(&x.Monolith, &x.Candidate, kind) {
		h.quiet(j.limit(), j.alpha, n)
		return false, true
	}
	word := statusWord
	switch kind {
	case whittle.FoundContentType:
		word = mediaType
	case whittle.FoundFailure:
		word = failureWord
	}
	o := headPair{from: word(&x.Monolith), to: word(&x.Candidate), shape: shape, exchange: x, show: j.show}
	if x.Repeat != nil && (x.Repeat.Failure == whittle.NoFailure || kind == whittle.FoundFailure) {
		o.again, o.self = true, word(x.Repeat) != o.from
	}
	if o.from != o.to {
		o.reason = reasonFor(j.c.Expect, kind, o.from, o.to)
		o.oneWay = reasonFor(j.c.Expect, kind, o.to, o.from) != ""
	}
	return h.see(&o, j.limit(), j.alpha, n), o.from == o.to
}

// alike is the quick look, which most exchanges pass.
func alike(a, b *whittle.Answer, kind whittle.FindingKind) bool {
	switch kind {
	case whittle.FoundFailure:
		return a.Failure == b.Failure
	case whittle.FoundStatus:
		return a.Status == b.Status
	}
	return a.Header.Get("Content-Type") == b.Header.Get("Content-Type")
}

// reasonFor gives the reason of the declaration that covers a change; empty:
// none does.
func reasonFor(list []whittle.Expectation, kind whittle.FindingKind, from, to string) string {
	for _, e := range list {
		if e.Kind == kind && (e.From == "" || strings.EqualFold(e.From, from)) && (e.To == "" || strings.EqualFold(e.To, to)) {
			return reasonOf(e)
		}
	}
	return ""
}

// reasonOf is a declaration's reason in words, never empty.
func reasonOf(e whittle.Expectation) string {
	if e.Reason == "" {
		return "declared in the config"
	}
	return e.Reason
}

func statusWord(a *whittle.Answer) string { return strconv.Itoa(a.Status) }

func failureWord(a *whittle.Answer) string {
	if a.Failure == whittle.NoFailure {
		return "an answer"
	}
	return "no answer (" + string(a.Failure) + ")"
}

// mediaType is the content type without its parameters but the charset.
func mediaType(a *whittle.Answer) string {
	raw := a.Header.Get("Content-Type")
	switch raw {
	case "":
		return "none"
	case "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8":
		return raw
	}
	kind, params, err := mime.ParseMediaType(raw)
	if err != nil {
		return snippet([]byte(raw), 80)
	}
	if c := params["charset"]; c != "" {
		kind += "; charset=" + strings.ToLower(c)
	}
	return snippet([]byte(kind), 120)
}

// limit is the share of answers that may differ in status or content type, or
// be missing, and still count as none. A law is known only to its margin, so
// the statistical kind does not ask for more than one in two hundred.
func (j *Judge) limit() float64 {
	if j.c.Kind == whittle.Statistical {
		return max(j.c.MaxDiffer, statisticalLimit)
	}
	return j.c.MaxDiffer
}

// statisticalLimit is that share for answers that are random by nature.
const statisticalLimit = 0.005

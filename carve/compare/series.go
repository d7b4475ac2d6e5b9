package compare

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/distribution"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/novelty"
)

// series is the evidence of the exchanges in which one side was asked first: the monolith for mirrored
// requests, the candidate for served ones. The two orders are judged apart, because a candidate can be
// right in only one of them.
type series struct {
	c      whittle.Comparison
	order  int     // 0 where the monolith was asked first, 1 where the candidate was
	alpha  float64 // of each head
	method method
	match  *match // the method; nil where responses are compared by distribution
	show   *display.View

	tallies
	headers headers
	// bound is the shortest time after which a candidate's response was given up.
	bound time.Duration
}

// tallies are counts, kept over a restart as they are.
type tallies struct {
	// Compared counts the exchanges with both responses, Asked also those without the candidate's. Loose
	// counts those of Asked that differed undeclared in status, content type or by giving no response;
	// of random responses also those that were wrong or unreadable, or differed around the number.
	Compared int `json:"compared"`
	Asked    int `json:"asked"`
	Loose    int `json:"loose"`
	// Errors counts those of Compared with a monolith's status of 400 or above, Partly those in which
	// nothing else was looked at, since status or content type differ as declared (goesOn).
	Errors int `json:"errors,omitempty"`
	Partly int `json:"partly,omitempty"`
	// Failed counts the requests at which the monolith failed where the candidate might not have:
	// without a response, or with one after the time at which the candidate is given up.
	Failed int `json:"failed,omitempty"`
	// Excused counts the exchanges that came but were not compared.
	Excused int `json:"excused,omitempty"`

	Heads [len(heads)]header.Head `json:"heads"`
}

// heads are what is compared of every exchange first.
var heads = [...]struct {
	kind  whittle.FindingKind
	words string // how a sentence about one begins
	word  func(*whittle.Response) string
	// alike is the quick look, which most exchanges pass.
	alike func(a, b *whittle.Response) bool
}{
	{whittle.FoundFailure, "the candidate gave", display.FailureWord, func(a, b *whittle.Response) bool { return a.Failure == b.Failure }},
	{whittle.FoundStatus, "status", statusWord, func(a, b *whittle.Response) bool { return a.Status == b.Status }},
	{whittle.FoundContentType, "content type", mediaType, func(a, b *whittle.Response) bool {
		return slices.Equal(a.Header["Content-Type"], b.Header["Content-Type"])
	}},
}

// The heads by their index.
const (
	failureHead = iota
	statusHead
	typeHead
)

// headOf is the index of a kind's head; -1: it has none.
func headOf(kind whittle.FindingKind) int {
	for i := range heads {
		if heads[i].kind == kind {
			return i
		}
	}
	return -1
}

// newSeries makes the evidence of one order, which spends a part of the comparison's error rate.
func newSeries(c whittle.Comparison, part float64, show *display.View) (*series, error) {
	m, err := newMethod(c, part, show)
	if err != nil {
		return nil, err
	}
	same, _ := m.(*match)
	s := &series{
		c: c, alpha: part * eprocess.OfHead * alphaOf(c), method: m, match: same, show: show,
		tallies: tallies{Heads: [...]header.Head{header.NewHead(), header.NewHead(), header.NewHead()}},
	}
	s.headers, err = newHeaders(c, s.alpha, show)
	return s, err
}

// monolithFailed notes a request to which the monolith gave no response.
func (s *series) monolithFailed(x *whittle.Exchange) {
	s.Failed++
	if x.Candidate.Failure == whittle.NoFailure {
		s.Heads[failureHead].Lean.Bets.Bet(-1, s.alpha, s.Asked) // as a failure of the candidate wins
	}
}

// late reports whether the candidate was given up at a bound that the monolith exceeded as well. The
// monolith's own bound is longer, so of two equally slow services the candidate alone would fail. Where
// the monolith alone exceeded it, that counts like its failure: if both are as slow, either is as likely
// to be the one.
func (s *series) late(x *whittle.Exchange) bool {
	took := x.Monolith.Latency
	if x.Candidate.Failure == whittle.FailedTimeout && x.Candidate.Latency > 0 {
		if s.bound == 0 || x.Candidate.Latency < s.bound {
			s.bound = x.Candidate.Latency
		}
		return took >= x.Candidate.Latency
	}
	if s.bound > 0 && took >= s.bound && x.Candidate.Failure == whittle.NoFailure {
		s.monolithFailed(x)
	}
	return false
}

// observe takes an exchange to which the monolith responded.
func (s *series) observe(x *whittle.Exchange) Observation {
	if s.late(x) {
		s.Excused++
		return Observation{}
	}
	s.Asked++
	failed, _ := s.seeHead(x, failureHead, s.Asked)
	if x.Candidate.Failure != whittle.NoFailure {
		s.Loose += int(eprocess.Indicator(failed))
		return Observation{Differs: failed}
	}
	isError := int(eprocess.Indicator(x.Monolith.Status >= 400))
	s.Compared++
	s.Errors += isError
	differs, same := s.seeHead(x, statusHead, s.Compared)
	loose, other := false, false
	if same = same || s.goesOn(statusHead, &x.Monolith, &x.Candidate); same {
		differs, same = s.seeHead(x, typeHead, s.Compared)
		same = same || s.goesOn(typeHead, &x.Monolith, &x.Candidate)
		loose, other = s.headers.see(x)
	}
	if !same {
		s.Partly += int(eprocess.Indicator(!differs))
		s.Loose += int(eprocess.Indicator(differs))
		return Observation{Differs: differs || other, Ask: differs || loose}
	}
	o := s.method.Observe(x)
	if o.Skip != "" {
		s.Compared--
		s.Asked--
		s.Errors -= isError
	} else {
		s.Loose += int(eprocess.Indicator(o.Differs && s.c.Kind == whittle.Statistical))
		o.Differs = o.Differs || other
	}
	o.Ask = o.Ask || loose
	return o
}

// seeHead takes an exchange to one of the heads. It reports whether the two sides differ undeclared, and
// whether they are the same.
func (s *series) seeHead(x *whittle.Exchange, head int, n int) (differs, same bool) {
	h, is := &s.Heads[head], &heads[head]
	if x.Repeat == nil && is.alike(&x.Monolith, &x.Candidate) {
		h.ObserveSame(s.limit(), s.alpha, n)
		return false, true
	}
	o := header.Pair{From: is.word(&x.Monolith), To: is.word(&x.Candidate), Exchange: x, Show: s.show}
	if x.Repeat != nil && (x.Repeat.Failure == whittle.NoFailure || head == failureHead) {
		o.Again, o.Self = true, is.word(x.Repeat) != o.From
	}
	if o.From != o.To {
		o.Shape = novelty.ShapeOf(&x.Request)
		o.Reason = reasonFor(s.c.Expect, is.kind, o.From, o.To)
		o.OneWay = reasonFor(s.c.Expect, is.kind, o.To, o.From) != ""
	}
	return h.See(&o, s.limit(), s.alpha, n), o.From == o.To
}

// limit is the share of responses that may differ in status or content type, or be missing, and still
// count as none. A distribution is known only to its margin, so the statistical kind asks for no more
// than one in two hundred.
func (s *series) limit() float64 {
	if s.c.Kind == whittle.Statistical {
		return max(s.c.MaxDiffer, distribution.Limit)
	}
	return s.c.MaxDiffer
}

// marginOf is the share of responses that could differ up to which EQUIVALENT may be said: as many as
// may be seen to differ or, where none may, as many as could without one having been seen.
func marginOf(limit float64) float64 { return cmp.Or(limit, distribution.Limit) }

func (s *series) margin() float64 { return marginOf(s.limit()) }

// places are where two responses differ undeclared, by names that are the same for every exchange:
// "status", "header Link", "$.items[*].id". At noisy ones the monolith is known to vary now and then.
func (s *series) places(x *whittle.Exchange, a, b *whittle.Response) (list, noisy []string) {
	for i := range heads {
		is := &heads[i]
		from, to := is.word(a), is.word(b)
		switch {
		case from == to || s.goesOn(i, a, b):
			continue
		case reasonFor(s.c.Expect, is.kind, from, to) != "":
			return nil, nil
		}
		return []string{string(is.kind)}, nil
	}
	body, rare := s.method.Places(a, b)
	return append(s.headers.differing(x, a, b), body...), rare
}

// goesOn reports whether the rest of two responses is compared although status or content type differ:
// where the difference is declared, between statuses of one class that have a body, in a type's parameters,
// or between two types of JSON. For others, such as a page for a 404, the declaration covers the rest too.
func (s *series) goesOn(head int, a, b *whittle.Response) bool {
	is := &heads[head]
	if reasonFor(s.c.Expect, is.kind, is.word(a), is.word(b)) == "" {
		return false
	}
	if head == statusHead {
		bare := []int{204, 205, 304}
		return a.Status/100 == b.Status/100 && !slices.Contains(bare, a.Status) && !slices.Contains(bare, b.Status)
	}
	return head == typeHead && formatOf(a) == formatOf(b)
}

// formatOf is a media type without its parameters, the same for all JSON.
func formatOf(a *whittle.Response) string {
	format, _, _ := strings.Cut(mediaType(a), ";")
	if strings.HasSuffix(format, "json") {
		return "json"
	}
	return format
}

// reasonFor gives the reason of the declaration that covers a change; empty: none does.
func reasonFor(list []whittle.Expectation, kind whittle.FindingKind, from, to string) string {
	for _, e := range list {
		if e.Kind == kind && (e.From == "" || strings.EqualFold(e.From, from)) && (e.To == "" || strings.EqualFold(e.To, to)) {
			return display.Reason(e)
		}
	}
	return ""
}

// method is one kind of comparison of two responses with equal status and content type. It is
// deterministic and not safe for concurrent use.
type method interface {
	// Observe takes an exchange with both responses, whole.
	Observe(x *whittle.Exchange) Observation
	// Report gives the findings, and the bounds at the level alpha. Every call gives the same.
	Report(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound)
	// Open is how many exchanges differ undeclared at a place where the monolith was not seen to vary.
	Open() int
	// Places are where two bodies differ undeclared, each once. At rare ones the monolith seldom varies.
	Places(a, b *whittle.Response) (list, rare []string)
	// Varies notes that the monolith gave two different responses to one request.
	Varies(a, b *whittle.Response)

	// ShowAgain redacts what was restored.
	ShowAgain()

	json.Marshaler
	json.Unmarshaler
}

// alphaOf is the promised error rate of a whole rollout.
func alphaOf(c whittle.Comparison) float64 {
	return eprocess.Alpha(c.Confidence)
}

// methodAlpha is a method's part of the error rate.
func methodAlpha(c whittle.Comparison) float64 { return eprocess.OfMain * alphaOf(c) }

// newMethod makes a comparison's method, which spends a part of methodAlpha. show formats what it shows.
func newMethod(c whittle.Comparison, part float64, show *display.View) (method, error) {
	switch c.Kind {
	case whittle.Exact, whittle.JSON:
		m, err := newMatch(c, show, bodyKind(c))
		if err != nil {
			return nil, err
		}
		m.alpha *= part
		return m, nil
	case whittle.Statistical:
		return newRandom(c, part*methodAlpha(c), show)
	}
	return nil, whittle.Errorf(whittle.Invalid, "unknown kind of comparison %q", c.Kind).
		WithField("compare.kind").WithHint("write exact, json or statistical")
}

// headers compares the headers of responses as places: by the evidence that fields of JSON bodies have,
// and by the direction of their differences.
type headers struct {
	*match
	texts   header.Texts
	cookies []string // the places of cookies whose values are compared by form
	more    bool     // there were further cookies
}

// newHeaders compares the headers that a comparison names, with an error rate of twice alpha.
func newHeaders(c whittle.Comparison, alpha float64, show *display.View) (headers, error) {
	h := headers{texts: header.NewTexts(&c, show)}
	var err error
	if h.match, err = newMatch(h.texts.Comparison(), header.ViewOf(show), whittle.FoundHeader); err != nil {
		return h, err
	}
	h.direct, h.alpha, h.places, h.learnAfter = true, 2*alpha, 11./12, 3
	h.forms.Named, h.forms.Declared = headerWords, h.texts.CookiesDeclared()
	return h, nil
}

// see takes an exchange with equal status. loose: a header differs that nobody declared, and that the
// monolith never varied so far. differs: enough is known of the monolith's noise for that to count.
func (h *headers) see(x *whittle.Exchange) (loose, differs bool) {
	h.texts.List(x)
	h.nameCookies(x)
	h.show.Whole(x)
	o := h.Observe(h.texts.Exchange(x, h.forms.Any() || h.watching()))
	h.show.Whole(nil)
	return o.Differs || o.Early, o.Differs
}

// nameCookies has each cookie's values compared by form, from the first exchange that sets it.
func (h *headers) nameCookies(x *whittle.Exchange) {
	for _, name := range h.texts.Cookies(x) {
		path := header.CookiePath(name)
		switch {
		case slices.Contains(h.cookies, path):
		case len(h.cookies) == header.Most:
			h.more = true
		default:
			h.cookies = append(h.cookies, path)
			h.forms.TakeCookie(path, h.n+1)
		}
	}
}

// differing lists the headers in which two responses to one request differ undeclared, in a way in which
// the monolith was not seen to vary.
func (h *headers) differing(x *whittle.Exchange, a, b *whittle.Response) (names []string) {
	of := h.texts.Pair(x, a, b)
	list, _ := h.Places(&of.Monolith, &of.Candidate)
	for _, path := range list {
		names = append(names, "header "+header.NameOf(path))
	}
	return names
}

// asked notes what both sides said in their headers when they were asked again.
func (h *headers) asked(r *whittle.Recheck) {
	first := *h.texts.Pair(r.Exchange, &r.Exchange.Monolith, &r.Exchange.Candidate)
	of := whittle.Recheck{Exchange: &first}
	for _, round := range r.Rounds {
		x := h.texts.Pair(r.Exchange, &round.Monolith, &round.Candidate)
		round.Monolith, round.Candidate = x.Monolith, x.Candidate
		of.Rounds = append(of.Rounds, round)
	}
	h.match.asked(&of)
}

// varies notes that the monolith gave two different responses to a request.
func (h *headers) varies(x *whittle.Exchange, a, b *whittle.Response) {
	of := h.texts.Pair(x, a, b)
	h.Varies(&of.Monolith, &of.Candidate)
}

// noisy lists the headers that the monolith changed by itself.
func (h *headers) noisy() (list []string) {
	for k := range h.noise.Learnt {
		list = append(list, header.NameOf(k.Path))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// headerWords name a header, or a cookie.
func headerWords(path string) string {
	name := header.NameOf(path)
	if strings.HasPrefix(name, header.SetCookie+" ") {
		return name
	}
	return "header " + name
}

package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/distribution"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/novelty"
	"whittle/internal/units"
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
		return a.Header.Get("Content-Type") == b.Header.Get("Content-Type")
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

// looseNow is Loose with the differences in headers that are no noise.
func (s *series) looseNow() int { return min(s.Asked, s.Loose+s.headers.Open()) }

// explained is how many of looseNow the monolith itself explains: at each of status, content type and
// failure at most as often as it was seen to vary there, in proportion. So one failure of its own
// excuses about one, and nothing elsewhere. elder is the other order's evidence, of the same monolith.
func (s *series) explained(elder *series, asked *rechecks) int {
	sum := 0.0
	for i := range heads {
		h, other := &s.Heads[i], &elder.Heads[i]
		varied := eprocess.Ratio(h.SelfCount+other.SelfCount, h.Repeats+other.Repeats)
		if i == failureHead {
			varied += eprocess.Ratio(s.Failed+elder.Failed, s.Asked+elder.Asked)
		}
		noise, _ := asked.varied(heads[i].kind, s.order)
		// Which of two equal sides is the odd one is a fair coin.
		sum += min(float64(h.Count), max(varied*float64(h.N), float64(2*noise)))
	}
	return int(sum)
}

// looseBound bounds the share of exchanges that differ by themselves, whatever the others are. Those
// seen are within the limit only if there are no more than it allows beyond what the monolith explains.
func (s *series) looseBound(explained int) whittle.Bound {
	loose, alpha := s.looseNow(), alphaOf(s.c)
	share := eprocess.Share{N: s.Asked, Differing: loose}
	b := whittle.Bound{
		ID: "exchanges", What: "share of responses", High: share.High(alpha), MarginHigh: s.margin(),
		Estimate: eprocess.Ratio(loose, s.Asked), More: share.MoreUntil(alpha, s.margin()),
	}
	excused := s.within(loose-explained, s.Asked)
	b.Inside = b.High <= b.MarginHigh && excused
	what := "another status, content type or header, or no response"
	if s.c.Kind == whittle.Statistical {
		what = "another status, content type, header or text, a wrong value, or no response"
	}
	b.Summary = fmt.Sprintf("%s of %s exchanges had %s: at most %s can",
		units.Grouped(loose), units.Grouped(s.Asked), what, display.InPercent(b.High))
	if !excused {
		b.Summary += seenTooOften(s.limit())
	}
	if !excused || s.Asked == 0 && s.Excused > 0 {
		b.More = -1
	}
	return b
}

// seenTooOften says that no number of equal responses outweighs the differences seen.
func seenTooOften(limit float64) string {
	return fmt.Sprintf("; only %s may be seen to differ (compare.max_differ), so fix and reset, or declare the difference", display.InPercent(limit))
}

// within reports whether the limit allows k differences of n.
func (s *series) within(k, n int) bool { return float64(k) <= s.limit()*float64(n) }

// findings are those of the series, decided ones first.
func (s *series) findings(explained int) ([]whittle.Finding, []whittle.Bound) {
	found, bounds := s.method.Report(alphaOf(s.c))
	list := []whittle.Finding{}
	for i := range heads {
		list = append(list, s.Heads[i].Findings(heads[i].kind, heads[i].words)...)
	}
	ofHeaders, further := s.headers.report(alphaOf(s.c))
	return slices.Concat(list, ofHeaders, found), append(append(bounds, further...), s.looseBound(explained))
}

// open is how many of n exchanges differ undeclared, at places of headers and bodies that are not the
// monolith's noise. Of status, type and failure explained says how many are the monolith's.
func (s *series) open() (k, n int) {
	k, n = s.looseNow(), s.Asked
	if s.c.Kind != whittle.Statistical { // whose own differences are in Loose
		k += s.method.Open()
	}
	return min(k, n), n
}

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

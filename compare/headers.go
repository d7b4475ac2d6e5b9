package compare

import (
	"slices"
	"strings"

	"whittle"
)

// Bounds of what is told of headers.
const (
	headerChangesMost = 24 // in each of the two heads
	// headerVariants are the changes of one header told apart; the rest is one
	// more.
	headerVariants = 1
	headerShown    = 120
	otherValues    = "other values"
)

// headers holds those headers of the two answers against each other that are
// compared: in one head where a side does not have a header, in the other where
// both have it and it says something else. A head bets on one header of an
// exchange: the first that differs, of those that the monolith was not seen to
// change by itself if there is one. The choice is of what came before and of
// which headers differ, so it is the same when the answers change places.
//
// Where the monolith was asked twice, what must be rejected besides is that the
// candidate differs from its first answer in no more headers than its second
// does. Both counts have one law where the two services have, so a bet on which
// is the larger is fair, and a header that always varies hides no other.
//
// With learned noise nothing is shown of another text before repeats have shown
// it, as with the fields of JSON: what is made for each answer (an id in a
// Location) is another one each time. A header that is not there is shown after
// a few repeats, or many exchanges without one.
type headers struct {
	Presence head `json:"presence"`
	Text     head `json:"text"`
	// Noisy are the headers that the monolith changed by itself, in Repeats of
	// N exchanges.
	Noisy   []string `json:"noisy"`
	Repeats int      `json:"repeats"`
	N       int      `json:"n"`

	names  []string
	expect []headerExpectation
	learns bool
	show   *display
}

// How long a header that is not there is only suspected with learned noise: so
// many repeats, or so many exchanges.
const (
	headerRepeats  = 3
	headerCompared = 500
)

func newHeaders(c whittle.Comparison, show *display) headers {
	return headers{
		Presence: newHead(), Text: newHead(), show: show,
		names: c.Headers[:min(len(c.Headers), whittle.MaxHeaders)], expect: headerExpectations(c.Expect),
		learns: c.LearnNoise && c.Kind != whittle.Statistical,
	}
}

// headersLevel is at what errors and at which exchange the heads look.
type headersLevel struct {
	limit, alpha float64
	n            int
}

// headerCount counts one head's headers of one exchange that differ undeclared: the
// candidate's, the monolith's own, and which of the pairs to bet on; -1: none.
type headerCount struct{ opens, own, bet int }

// see takes one exchange in which the status is the same. loose says that a header
// differs undeclared, differs that one does which the monolith is known not to
// change by itself.
func (h *headers) see(x *whittle.Exchange, shape uint64, at headersLevel) (loose, differs bool) {
	again := x.Repeat
	if again != nil && (again.Failure != whittle.NoFailure || again.Status != x.Monolith.Status) {
		again = nil
	}
	h.N++
	if again == nil && h.same(x.Monolith.Header, x.Candidate.Header) {
		h.Presence.quiet(at.limit, at.alpha, at.n)
		h.Text.quiet(at.limit, at.alpha, at.n)
		return false, false
	}
	var list []headPair
	var varied []string
	presence, text := headerCount{bet: -1}, headerCount{bet: -1}
	of := func(p *headPair) *headerCount {
		if p.absent {
			return &presence
		}
		return &text
	}
	for _, name := range h.names {
		if p, ok := h.pair(name, x, &x.Candidate); ok {
			p.shape, p.exchange, p.show = shape, x, h.show
			if t := of(&p); p.reason == "" {
				t.opens++
				differs = differs || !h.noisy(name)
				if !p.oneWay && (t.bet < 0 || h.noisy(list[t.bet].path) && !h.noisy(name)) {
					t.bet = len(list)
				}
			}
			list = append(list, p)
		}
		if again == nil {
			continue
		}
		if p, ok := h.pair(name, x, again); ok {
			varied = append(varied, name)
			if p.reason == "" {
				of(&p).own++
			}
		}
	}
	for i := range list {
		h.headOf(&list[i]).tell(&list[i])
	}
	h.Presence.settle(presence, list, again != nil, at)
	h.Text.settle(text, list, again != nil, at)
	if again != nil {
		h.Repeats++
	}
	for _, name := range varied {
		if !h.noisy(name) {
			h.Noisy = append(h.Noisy, name)
		}
	}
	return presence.opens+text.opens > 0, differs && !h.learning()
}

func (h *headers) headOf(p *headPair) *head {
	if p.absent {
		return &h.Presence
	}
	return &h.Text
}

// settle takes what one exchange showed of several headers together.
func (t *head) settle(c headerCount, list []headPair, again bool, at headersLevel) {
	t.N++
	if c.opens > 0 {
		t.Count++
	}
	if c.bet >= 0 {
		t.lean(&list[c.bet], at.alpha, at.n)
	}
	t.Share.see(c.opens > 0, at.limit, at.alpha, at.n)
	if again {
		t.SelfCount += int(oneIf(c.own > 0))
		t.Self.bet(float64(sign(int32(c.opens-c.own))), at.alpha, at.n)
	}
}

// learning reports whether too little was asked twice to tell what the monolith
// changes by itself.
func (h *headers) learning() bool {
	return h.learns && h.Repeats < headerRepeats && h.N < headerCompared
}

func (h *headers) noisy(name string) bool { return slices.Contains(h.Noisy, name) }

// same is the quick look, which most exchanges pass.
func (h *headers) same(a, b whittle.Header) bool {
	for _, name := range h.names {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// pair is a header in which an answer differs from the monolith's, in words fit to
// be shown.
func (h *headers) pair(name string, x *whittle.Exchange, other *whittle.Answer) (headPair, bool) {
	from, to := headerWords(name, x, other)
	if from == to {
		return headPair{}, false
	}
	p := headPair{path: name, absent: from == absent || to == absent, from: h.show.header(name, from), to: h.show.header(name, to)}
	if p.from == p.to { // the difference is not to be shown, or too far behind
		p.from, p.to = p.from+oneSuffix, p.to+anotherSuffix
		if from > to {
			p.from, p.to = p.to, p.from
		}
	}
	p.reason = h.reason(name, p.from, p.to, from, to)
	p.oneWay = h.reason(name, p.to, p.from, to, from) != ""
	return p, true
}

// tell keeps a change, as one of other values where the header has many.
func (t *head) tell(p *headPair) {
	told, known := 0, false
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.Path == p.path && c.Expected == p.reason {
			told++
			known = known || c.From == p.from && c.To == p.to
		}
	}
	one := *p
	if !known && told >= headerVariants {
		one.from, one.to = other(p.from, p), other(p.to, p)
	}
	t.keep(&one, headerChangesMost, 1)
}

// other is the word for further values; a header that is not there has no other.
func other(word string, p *headPair) string {
	if p.absent && word == noHeader {
		return word
	}
	return otherValues
}

// findings are those of the two heads, each with what to do where it cannot be
// told from the monolith's own changes.
func (h *headers) findings() []whittle.Finding {
	sure := h.Text.decidedAt()
	if h.learns && h.Text.Self.At == 0 {
		sure = 0
	}
	there := h.Presence.decidedAt()
	if h.learning() {
		there = 0
	}
	return append(h.explained(h.Presence.findingsAt(whittle.FoundHeader, "header", there)),
		h.explained(h.Text.findingsAt(whittle.FoundHeader, "header", sure))...)
}

func (h *headers) explained(list []whittle.Finding) []whittle.Finding {
	other := slices.ContainsFunc(list, func(f whittle.Finding) bool { return f.Decided && !h.noisy(f.Path) })
	for i := range list {
		switch f := &list[i]; {
		case f.Expected != "":
		case h.noisy(f.Path):
			f.Cause = "the monolith changes it by itself: declare it in compare.expect, or leave it out of compare.headers"
			if other { // by which the head is decided
				f.Decided, f.DecidedAt = false, 0
			}
		case h.learns && h.Repeats == 0:
			f.Cause = "no request was asked twice, so the monolith may change it by itself: if it does, declare it in compare.expect, or leave it out of compare.headers"
		}
	}
	return list
}

func (h *headers) valid() bool {
	return h.Presence.valid(headerChangesMost) && h.Text.valid(headerChangesMost) && len(h.Noisy) <= whittle.MaxHeaders &&
		upTo(h.Repeats, h.N)
}

// restore takes over what was kept.
func (h *headers) restore(kept *headers) {
	h.Presence, h.Text, h.Noisy, h.Repeats, h.N = kept.Presence, kept.Text, kept.Noisy, kept.Repeats, kept.N
}

// showAgain redacts what was restored.
func (h *headers) showAgain() {
	for _, t := range []*head{&h.Presence, &h.Text} {
		for i := range t.Changes {
			c := &t.Changes[i]
			h.show.again(c.Samples)
			c.From, c.To = h.show.headerAgain(c.Path, c.From), h.show.headerAgain(c.Path, c.To)
		}
	}
}

// headerExpectation is a declared difference, with its values as they are compared
// as well as they were written.
type headerExpectation struct {
	whittle.Expectation
	from, to string
}

func headerExpectations(list []whittle.Expectation) (out []headerExpectation) {
	word := func(name, value string) string {
		if value == "" || name == "" {
			return value
		}
		return headerWord(name, whittle.Header{name: {value}}, nil)
	}
	for _, e := range list {
		if e.Kind == whittle.FoundHeader {
			out = append(out, headerExpectation{e, word(e.Path, e.From), word(e.Path, e.To)})
		}
	}
	return out
}

// reason gives the reason of the declaration that covers a change, by what is
// shown of it or by what it is; empty: none does.
func (h *headers) reason(name, from, to, rawFrom, rawTo string) string {
	fits := func(want, word, shown, raw string) bool {
		return want == "" || strings.EqualFold(want, shown) || strings.EqualFold(word, raw)
	}
	for _, e := range h.expect {
		if (e.Path == "" || strings.EqualFold(e.Path, name)) && fits(e.From, e.from, from, rawFrom) && fits(e.To, e.to, to, rawTo) {
			return reasonOf(e.Expectation)
		}
	}
	return ""
}

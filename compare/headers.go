package compare

import (
	"cmp"
	"slices"
	"strings"

	"whittle"
)

// Bounds of what is told of headers.
const (
	headerChangesMost = 2 * whittle.MaxHeaders // in each of the two heads
	// headerVariants are the changes of one header told apart; the rest is one
	// more.
	headerVariants = 1
	headerShown    = 120
	otherValues    = "other values"
)

// headers holds those headers of the two answers against each other that are
// compared: in one head where a side does not have a header, in the other where
// both have it and it says something else. A head bets on one header of an
// exchange (before). The choice is of what came before and of which headers differ,
// so it is the same when the answers change places.
//
// Where the monolith was asked twice, what must be rejected besides is that the
// candidate differs from its first answer in no more headers than its second
// does: of those that were not seen to vary, and where these are as many, of all.
// Both counts have one law where the two services have, so a bet on which is the
// larger is fair, and a header that always varies hides no other.
//
// With learned noise another text is shown by repeats alone, as with the fields of
// JSON: what is made for each answer (an id in a Location) is another one each
// time. A header that is not there is shown after a few repeats, or many exchanges
// without one.
type headers struct {
	Presence headerHead `json:"presence"`
	Text     headerHead `json:"text"`
	// Repeats of N exchanges were asked twice; Learned is the exchange at which
	// there were enough of either; 0: not yet.
	Repeats int `json:"repeats"`
	N       int `json:"n"`
	Learned int `json:"learned"`

	names  []string
	expect []headerExpectation
	learns bool
	show   *display
}

// headerHead is one of the two heads.
type headerHead struct {
	head
	// Noisy are the headers that the monolith changed by itself.
	Noisy []string `json:"noisy"`
}

// How long a header that is not there is only suspected with learned noise: so
// many repeats, or so many exchanges.
const (
	headerRepeats  = 3
	headerCompared = 500
)

func newHeaders(c whittle.Comparison, show *display) headers {
	return headers{
		Presence: headerHead{head: newHead()}, Text: headerHead{head: newHead()}, show: show,
		names: c.Headers[:min(len(c.Headers), whittle.MaxHeaders)], expect: headerExpectations(c.Expect),
		learns: c.LearnNoise && c.Kind != whittle.Statistical,
	}
}

// headersLevel is at what errors and at which exchange the heads look.
type headersLevel struct {
	limit, alpha float64
	n            int
}

// headerRound is what one exchange has for one head: the headers in which the
// candidate differs from the monolith's answer, and those in which the monolith's
// second answer does.
type headerRound struct{ candidate, again []headPair }

// see takes one exchange in which the status is the same. loose says that a header
// differs undeclared, differs that one does which the monolith is known not to
// change by itself.
func (h *headers) see(x *whittle.Exchange, shape uint64, at headersLevel) (loose, differs bool) {
	again := x.Repeat
	if again != nil && (again.Failure != whittle.NoFailure || again.Status != x.Monolith.Status) {
		again = nil
	}
	h.N++
	h.Repeats += int(oneIf(again != nil))
	if h.Learned == 0 && (h.Repeats >= headerRepeats || h.N >= headerCompared) {
		h.Learned = at.n
	}
	if again == nil && h.same(x.Monolith.Header, x.Candidate.Header) {
		h.Presence.quiet(at.limit, at.alpha, at.n)
		h.Text.quiet(at.limit, at.alpha, at.n)
		return false, false
	}
	var presence, text headerRound
	of := func(p *headPair) *headerRound {
		if p.absent {
			return &presence
		}
		return &text
	}
	for _, name := range h.names {
		if p, ok := h.pair(name, x, &x.Candidate); ok {
			p.shape, p.exchange, p.show = shape, x, h.show
			r := of(&p)
			r.candidate = append(r.candidate, p)
		}
		if again != nil {
			if p, ok := h.pair(name, x, again); ok {
				r := of(&p)
				r.again = append(r.again, p)
			}
		}
	}
	lost, lostClean := h.Presence.settle(&presence, again != nil, at)
	reworded, rewordedClean := h.Text.settle(&text, again != nil, at)
	// Another text says nothing before something was asked twice, however long ago
	// the first exchange was.
	return lost || reworded, lostClean && !h.learning() || rewordedClean && (!h.learns || h.Repeats >= headerRepeats)
}

// settle takes one exchange's headers to the head; repeated says that the monolith
// was asked twice. open says that one differs
// undeclared, clean that one does which was not seen to vary.
func (t *headerHead) settle(r *headerRound, repeated bool, at headersLevel) (open, clean bool) {
	t.N++
	opens, cleans, bet := 0, 0, -1
	for i := range r.candidate {
		p := &r.candidate[i]
		t.tell(p)
		if p.reason == "" {
			opens++
			cleans += int(oneIf(!t.noisy(p.path)))
		}
		if (p.reason == "" || !p.oneWay) && (bet < 0 || t.before(p, &r.candidate[bet])) {
			bet = i
		}
	}
	open, clean = opens > 0, cleans > 0
	t.Count += int(oneIf(open))
	if bet >= 0 {
		t.lean(&r.candidate[bet], at.alpha, at.n)
	}
	t.Share.see(open, at.limit, at.alpha, at.n)
	if !repeated {
		return open, clean
	}
	own := false
	for i := range r.again {
		if p := &r.again[i]; p.reason == "" {
			own = true
			opens--
			cleans -= int(oneIf(!t.noisy(p.path)))
		}
	}
	t.SelfCount += int(oneIf(own))
	more := sign(int32(cleans))
	if more == 0 {
		more = sign(int32(opens))
	}
	t.Self.bet(float64(more), at.alpha, at.n)
	for i := range r.again {
		if name := r.again[i].path; !t.noisy(name) {
			t.Noisy = append(t.Noisy, name)
		}
	}
	return open, clean
}

// before orders what to bet on: what is declared in neither direction first, then
// what was not seen to vary, then what leaned to one side the most.
func (t *headerHead) before(a, b *headPair) bool {
	rank := func(p *headPair) int {
		return 2*int(oneIf(p.oneWay || p.reason != "")) + int(oneIf(t.noisy(p.path)))
	}
	leant := func(p *headPair) int32 {
		slot, _ := t.slot(p)
		return max(*slot, -*slot)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(leant(b), leant(a))) < 0
}

func (t *headerHead) noisy(name string) bool { return slices.Contains(t.Noisy, name) }

// learning reports whether too little was asked twice to tell which headers the
// monolith has by chance.
func (h *headers) learning() bool { return h.learns && h.Learned == 0 }

// noisy lists the headers that the monolith changed by itself.
func (h *headers) noisy() []string {
	list := append(slices.Clone(h.Presence.Noisy), h.Text.Noisy...)
	slices.Sort(list)
	return slices.Compact(list)
}

// same is the quick look, which most exchanges pass.
func (h *headers) same(a, b whittle.Header) bool {
	for _, name := range h.names {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// differing lists the headers in which two responses to the same request differ
// undeclared.
func (h *headers) differing(x *whittle.Exchange, a, b *whittle.Answer) (names []string) {
	if a.Failure != whittle.NoFailure || b.Failure != whittle.NoFailure || h.same(a.Header, b.Header) {
		return nil
	}
	one := *x
	one.Monolith = *a
	for _, name := range h.names {
		if p, ok := h.pair(name, &one, b); ok && p.reason == "" {
			names = append(names, name)
		}
	}
	return names
}

// pair is a header in which an answer differs from the monolith's, in words fit to
// be shown.
func (h *headers) pair(name string, x *whittle.Exchange, other *whittle.Answer) (headPair, bool) {
	from, to := headerWords(name, x, other)
	if from == to {
		return headPair{}, false
	}
	p := headPair{path: name, absent: from == absent || to == absent, from: h.show.header(name, from), to: h.show.header(name, to)}
	switch { // the difference is not to be shown, or too far behind
	case p.from != p.to:
	case from == absent:
		p.to += oneSuffix
	case to == absent:
		p.from += oneSuffix
	case from < to:
		p.from, p.to = p.from+oneSuffix, p.to+anotherSuffix
	default:
		p.from, p.to = p.from+anotherSuffix, p.to+oneSuffix
	}
	p.reason = h.reason(name, x.Request.Host, p.from, p.to, from, to)
	p.oneWay = h.reason(name, x.Request.Host, p.to, p.from, to, from) != ""
	return p, true
}

// tell keeps a change, as one of other values where the header has many.
func (t *headerHead) tell(p *headPair) {
	told, known := 0, false
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.Path == p.path && c.Expected == p.reason && (!p.absent || (c.From == noHeader) == (p.from == noHeader)) {
			told++
			known = known || c.From == p.from && c.To == p.to
		}
	}
	one := *p
	if !known && told >= headerVariants {
		one.from, one.to = other(p.from, p), other(p.to, p)
	}
	t.keep(&one, headerChangesMost, 1, func(c *changeOf) bool {
		return c.Expected != "" || t.noisy(c.Path) && !t.noisy(p.path)
	})
}

// other is the word for further values; a header that is not there has no other.
func other(word string, p *headPair) string {
	if p.absent && word == noHeader {
		return word
	}
	return otherValues
}

// findings are those of the two heads, each with what to do where it cannot be
// told from the monolith's own changes. limit is the share of answers that may
// differ.
func (h *headers) findings(limit float64) []whittle.Finding {
	there, text := h.Presence.decidedAt(), h.Text.decidedAt()
	if h.learns {
		// Repeats are proof enough: they need no leaning to one side.
		if text = max(h.Text.Share.At, h.Text.Self.At); h.Text.Share.At == 0 || h.Text.Self.At == 0 {
			text = 0
		}
		if there > 0 {
			there = max(there, h.Learned)
		}
		if h.Learned == 0 {
			there = 0
		}
	}
	return append(h.explained(&h.Presence, there, limit), h.explained(&h.Text, text, limit)...)
}

// explained are the findings of a head that was decided at an exchange; 0: it is
// not. Where headers are noisy and others not, it is by the others.
func (h *headers) explained(t *headerHead, at int, limit float64) []whittle.Finding {
	list := t.findingsAt(whittle.FoundHeader, "header", at)
	clean := slices.ContainsFunc(list, func(f whittle.Finding) bool {
		return f.Decided && !t.noisy(f.Path) && float64(f.Count) > limit*float64(f.Of)
	})
	for i := range list {
		f := &list[i]
		if clean && t.noisy(f.Path) {
			f.Decided, f.DecidedAt = false, 0
		}
		if h.learns && t == &h.Text && f.Expected == "" {
			f.EValue = min(t.Self.eValue(), t.Share.eValue())
		}
		switch {
		case f.Expected != "" || f.Decided:
		case t.noisy(f.Path):
			f.Cause = "the monolith changes it by itself: declare it in compare.expect, or leave it out of compare.headers"
		case h.Repeats == 0:
			f.Cause = "no request was asked twice, so the monolith may change it by itself: if it does, declare it in compare.expect, or leave it out of compare.headers"
		}
	}
	return list
}

func (h *headers) valid() bool {
	for _, t := range []*headerHead{&h.Presence, &h.Text} {
		if !t.valid(headerChangesMost) || len(t.Noisy) > whittle.MaxHeaders {
			return false
		}
	}
	return upTo(h.Repeats, h.N) && h.Learned >= 0
}

// restore takes over what was kept.
func (h *headers) restore(kept *headers) {
	h.Presence, h.Text, h.Repeats, h.N, h.Learned = kept.Presence, kept.Text, kept.Repeats, kept.N, kept.Learned
}

// showAgain redacts what was restored.
func (h *headers) showAgain() {
	for _, t := range []*headerHead{&h.Presence, &h.Text} {
		for i := range t.Changes {
			c := &t.Changes[i]
			h.show.again(c.Samples, nil)
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
func (h *headers) reason(name, host, from, to, rawFrom, rawTo string) string {
	fits := func(want, word, shown, raw string) bool {
		if want == "" || strings.EqualFold(want, shown) || strings.EqualFold(word, raw) {
			return true
		}
		bare, ok := onHost(word, host)
		return ok && name == "Location" && bare == raw
	}
	for _, e := range h.expect {
		if (e.Path == "" || strings.EqualFold(e.Path, name)) && fits(e.From, e.from, from, rawFrom) && fits(e.To, e.to, to, rawTo) {
			return reasonOf(e.Expectation)
		}
	}
	return ""
}

package header

import (
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/noise"
)

// fastLeast is in how many exchanges a header must differ before it is named on the
// evidence of direction, which is that of all headers of a head together: in fewer
// the sign of its own differences would not be rare enough (2^-12 at the least).
const fastLeast = 12

// Findings are those of the two heads and what servers add, each with what to do
// where it cannot be distinguished from the monolith's own changes. limit is the share of
// responses that may differ.
func (h *Headers) Findings(limit float64) []whittle.Finding {
	there, text := h.Presence.DecidedAt(), h.Text.DecidedAt()
	if h.withNoise {
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
	list := append(h.explained(&h.Presence, there, limit), h.explained(&h.Text, text, limit)...)
	list = append(list, h.cookies.findings()...)
	list = append(list, h.values.findings()...)
	return append(list, h.addedFindings()...)
}

// explained are the findings of a head that was decided at an exchange; 0: it is
// not. Where headers are noisy and others not, it is by the others.
func (h *Headers) explained(t *headerHead, at int, limit float64) []whittle.Finding {
	list := t.findingsAt(whittle.FoundHeader, "header", at)
	clean := false
	for i := range list {
		f, c := &list[i], &t.Changes[i]
		if f.Expected != "" {
			continue
		}
		if h.isOwn(c.Path) || h.mayBeOwn(c) {
			f.Decided, f.DecidedAt = false, 0
			continue
		}
		if f.Decided && !h.blamed(t, c) {
			f.Decided, f.DecidedAt = false, 0
		}
		if fast := h.fastAt(t, c, limit); fast > 0 && (!f.Decided || fast < f.DecidedAt) {
			f.Decided, f.DecidedAt = true, fast
		}
		if h.withNoise {
			f.EValue = min(t.Share.EValue(), max(t.Same.EValue(), t.Self.EValue()))
		}
		clean = clean || f.Decided && !c.Noisy && float64(f.Count) > limit*float64(f.Of)
	}
	kept := list[:0]
	for i := range list {
		f, c := list[i], &t.Changes[i]
		if f.Expected == "" && c.Noisy && (clean || h.withNoise && !h.beyond(c)) {
			f.Decided, f.DecidedAt = false, 0
		}
		if h.withNoise && f.Expected == "" && c.Noisy && !f.Decided && !h.isOwn(c.Path) && !h.mayBeOwn(c) {
			continue // as with the fields of JSON: noise is no finding
		}
		f.Cause = h.cause(&f, c)
		kept = append(kept, f)
	}
	return kept
}

// cause says what to do about a difference that is not shown yet.
func (h *Headers) cause(f *whittle.Finding, c *Change) string {
	switch {
	case f.Expected != "":
	case h.isOwn(c.Path):
		return "both sides' values come in spells, and now the one's moves and now the other's, so each server seems to hold its own, which says nothing of the candidate: " + exceptWords(c.Path)
	case h.mayBeOwn(c):
		return "each side says one and the same to all requests for a while: whether each server holds its own, which moves, has not been watched for long enough; if it does, " + exceptWords(c.Path)
	case c.Path == "Content-Encoding": // one that was asked for is taken off before anything is compared
		return "the request's Accept-Encoding asks for none such, so its client may not be able to read the body"
	case h.isConstant(c):
		return "each side says one and the same in every response, as a host name or a version: if it is each server's own, " + exceptWords(c.Path) + "; if not, the candidate's is wrong"
	case f.Decided:
	case c.Noisy:
		return "the monolith changes it by itself: declare it in compare.expect, or leave it out of compare.headers"
	case h.Repeats == 0:
		return "no request was asked twice, so the monolith may change it by itself: if it does, declare it in compare.expect, or leave it out of compare.headers"
	}
	return ""
}

// fastAt is the exchange at which a change was shown by its direction alone, without
// a repeat; 0: it is not. Only with learned noise it takes more than the bets of
// the head: the header differs often enough to be the one, the monolith was not seen
// to vary in it, and but for forms the two sides never changed places.
func (h *Headers) fastAt(t *headerHead, c *Change, limit float64) int {
	n := h.find(c.Path)
	if !h.withNoise || n == nil || t.Same.At == 0 || t.Share.At == 0 {
		return 0
	}
	w := &n.Ways[c.Way]
	if w.Noisy || w.Broken && c.Way != headerForm || w.Candidate < fastLeast || float64(w.Candidate) <= limit*float64(h.N) {
		return 0
	}
	return max(t.Same.At, t.Share.At)
}

// blamed reports whether a change of text is part of what repeats have shown: in
// repeated exchanges the candidate makes it, beyond the monolith's own changes, at
// least a quarter as often as its most frequent change.
func (h *Headers) blamed(t *headerHead, c *Change) bool {
	if !h.withNoise || t != &h.Text {
		return true
	}
	most := 1
	for i := range h.Names {
		for _, way := range []headerHow{headerForm, headerValue} {
			w := &h.Names[i].Ways[way]
			most = max(most, w.Again-w.Self)
		}
	}
	n := h.find(c.Path)
	return n == nil || 4*(n.Ways[c.Way].Again-n.Ways[c.Way].Self) >= most
}

// beyond reports whether a noisy header differs more often than noise explains.
func (h *Headers) beyond(c *Change) bool {
	at, ok := h.index[c.Path]
	if !ok {
		return false
	}
	g := h.changed(at, c.Way)
	return noise.Beyond(eprocess.Ratio(g.Candidate, g.N), eprocess.Ratio(g.Monolith, g.Repeats)) > noise.Slack
}

// find is what is known of a header; nil: nothing.
func (h *Headers) find(name string) *headerName {
	if i, ok := h.index[name]; ok {
		return &h.Names[i]
	}
	return nil
}

// addedFindings are the differences in what servers add.
func (h *Headers) addedFindings() []whittle.Finding {
	t := Head{N: h.N, Changes: h.Added}
	return t.findingsAt(whittle.FoundHeader, "header", 0)
}

// Valid reports whether restored state is possible.
func (h *Headers) Valid() bool {
	for _, t := range []*headerHead{&h.Presence, &h.Text} {
		if !t.Valid(HeaderChangesMost) || slices.ContainsFunc(t.Changes, func(c Change) bool { return c.Way >= headerHows }) {
			return false
		}
	}
	known := map[string]bool{}
	for i := range h.Names {
		n := &h.Names[i]
		if known[n.Name] || !n.valid(h.N, h.Repeats) {
			return false
		}
		known[n.Name] = true
	}
	loose := 0
	for _, l := range h.Loose {
		if l.Count <= 0 || l.Count > h.N {
			return false
		}
		loose += l.Count
	}
	for _, c := range h.Added {
		if !eprocess.UpTo(c.Count, h.N) || len(c.Samples) > display.MaxSamples {
			return false
		}
	}
	return eprocess.UpTo(h.Repeats, h.N) && h.Learned >= 0 && len(h.Names) <= HeaderNames+1 && len(h.Loose) <= looseMost &&
		len(h.Added) <= addedMost && loose <= h.N
}

func (n *headerName) valid(exchanges, repeats int) bool {
	for i := range n.Ways {
		if w := &n.Ways[i]; !eprocess.UpTo(w.Candidate, exchanges) || !eprocess.UpTo(w.Again, w.Candidate) || !eprocess.UpTo(w.Self, repeats) || !eprocess.UpTo(max(w.Net, -w.Net), w.Candidate) || !eprocess.UpTo(max(w.SelfNet, -w.SelfNet), w.Self) {
			return false
		}
	}
	return true
}

// Restore takes over what was kept.
func (h *Headers) Restore(kept *Headers) {
	h.Presence, h.Text, h.Names, h.Loose, h.Added = kept.Presence, kept.Text, kept.Names, kept.Loose, kept.Added
	h.Repeats, h.N, h.Learned, h.Conditions, h.Ranges = kept.Repeats, kept.N, kept.Learned, kept.Conditions, kept.Ranges
	h.index = make(map[string]int, len(h.Names))
	for i := range h.Names {
		h.index[h.Names[i].Name] = i
	}
}

// ShowAgain redacts what was restored.
func (h *Headers) ShowAgain() {
	for _, list := range [][]Change{h.Presence.Changes, h.Text.Changes, h.Added} {
		for i := range list {
			c := &list[i]
			for k := range c.Samples {
				h.sampleAgain(&c.Samples[k])
			}
			c.From, c.To = shownHeaderAgain(h.show, c.Path, c.From), shownHeaderAgain(h.show, c.Path, c.To)
		}
	}
	h.cookies.EachSample(h.sampleAgain)
	h.values.EachSample(h.sampleAgain)
}

func (h *Headers) sampleAgain(s *whittle.Sample) {
	s.Request = h.show.Kept(nil, s.Request)
	s.Monolith, s.Candidate = headerLinesAgain(h.show, s.Monolith), headerLinesAgain(h.show, s.Candidate)
}

// linesSample is the exchange in short, with the lines of the headers that differ.
func (o *Pair) linesSample() whittle.Sample {
	s := o.Show.Sample(o.Exchange)
	a, b := o.Exchange.Monolith.Header, o.Exchange.Candidate.Header
	s.Monolith, s.Candidate = headerLines(o.Show, o.lines, a, b), headerLines(o.Show, o.lines, b, a)
	return s
}

// linesMost bounds the lines that a sample shows of headers.
const linesMost = 8

// headerLines are those of h's headers that the other does not have, redacted, one below
// the other: "Cache-Control: no-store".
func headerLines(d *display.View, names []string, h, other whittle.Header) string {
	var out []string
	for _, name := range names {
		if len(h[name]) == 0 {
			out = append(out, name+" is "+Missing)
			continue
		}
		count := len(out)
		for _, v := range h[name] {
			if !slices.Contains(other[name], v) {
				out = append(out, headerLine(d, name, v))
			}
		}
		if len(out) == count { // they differ in number or order
			for _, v := range h[name] {
				out = append(out, headerLine(d, name, v))
			}
		}
	}
	more := ""
	if len(out) > linesMost {
		out, more = out[:linesMost], "\n…"
	}
	each := display.BodyShown / max(1, len(out))
	for i := range out {
		out[i] = display.Snippet([]byte(out[i]), max(each-len("…\n"), 16))
	}
	return strings.Join(out, "\n") + more
}

// headerLine is one line of a header, redacted. The value of a cookie is a secret whatever
// else is.
func headerLine(d *display.View, name, value string) string {
	if configured(name) == SetCookie && !d.Redacts() {
		value = masked(value)
	}
	return name + ": " + d.HeaderValue(configured(name), value)
}

// headerLinesAgain is headerLines for a text that was shown before.
func headerLinesAgain(d *display.View, text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if name, value, ok := strings.Cut(l, ": "); ok {
			lines[i] = headerLine(d, name, value)
		}
	}
	return strings.Join(lines, "\n")
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
func (h *Headers) reason(name, host, from, to, rawFrom, rawTo string) string {
	fits := func(want, word, shown, raw string) bool {
		if want == "" || strings.EqualFold(want, shown) || strings.EqualFold(word, raw) {
			return true
		}
		bare, ok := onHost(word, host)
		return ok && name == "Location" && bare == raw
	}
	for _, e := range h.expect {
		if (e.Path == "" || strings.EqualFold(e.Path, name)) && fits(e.From, e.from, from, rawFrom) && fits(e.To, e.to, to, rawTo) {
			return display.Reason(e.Expectation)
		}
	}
	return ""
}

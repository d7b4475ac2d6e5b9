package header

import (
	"maps"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Bounds of what is distinguished and kept of headers.
const (
	// HeaderNames are distinguished by name; what comes later is compared as one,
	// OtherHeaders.
	HeaderNames       = 63
	OtherHeaders      = "other headers"
	HeaderChangesMost = 32 // in each of the two heads
	// headerVariants are the changes distinguished of one header in one way; the rest
	// is one more.
	headerVariants = 1
	headerShown    = 120
	otherValues    = "other values"
)

// Headers compares the headers of two responses. One head is for headers that a side
// lacks, the other for headers with different values. A head bets on one header of an
// exchange. It chooses by the past and by which headers differ, so the choice is the
// same when the responses are swapped.
//
// Where the monolith was asked twice, a second hypothesis must be rejected too: that
// the candidate differs from the monolith's first response in no more headers than
// the monolith's second response does. Headers never seen to vary are counted first
// and, if these counts are equal, all headers. For equivalent services both counts
// have the same distribution, so a bet on which is larger is fair. A header that
// always varies hides no other.
//
// With learned noise two ways lead to a decision. By direction (headerName): one
// side never had the header, or the same two texts came again and again and never
// changed places. Random values of equal services do neither, however they are
// distributed. And by repeats, as with the fields of JSON, which is the only way
// where each response has a value of its own (an id in a Location). What the
// monolith changed by itself is noise then, excused up to a bound (noiseBound), and
// still compared by its form.
type Headers struct {
	Presence headerHead `json:"presence"`
	Text     headerHead `json:"text"`
	// Names are the headers distinguished, by first sight.
	Names []headerName `json:"names"`
	// Loose are the exchanges that differed undeclared, by the ways in which.
	Loose []looseHeaders `json:"loose"`
	// Added are the differences in what servers add by themselves.
	Added []Change `json:"added"`
	// Repeats of N exchanges were asked twice; Learned is the exchange at which
	// there were enough of either; 0: not yet.
	Repeats int `json:"repeats"`
	N       int `json:"n"`
	Learned int `json:"learned"`
	// Conditions and Ranges say that clients sent some.
	Conditions bool `json:"conditions"`
	Ranges     bool `json:"ranges"`

	c      whittle.Comparison
	index  map[string]int // of Names
	expect []headerExpectation
	// withNoise says that there is noise to be learned, chosen that the repeated
	// requests are not drawn by chance.
	withNoise, chosen bool
	show              *display.View
	noise             *headerNoise
	cookies           *Cookies
	values            *values
	adopted           int // the noise's version that Names have
	owned             int // see Owned
	partly            [len(partly)]bool
}

// How long a header that now one side lacks and now the other is only suspected
// with learned noise: so many repeats, or so many exchanges.
const (
	headerRepeats  = 3
	headerCompared = 500
)

// New compares the headers that a comparison names; show redacts what is shown.
func New(c whittle.Comparison, show *display.View) Headers {
	return Headers{
		Presence: headerHead{Head: NewHead()}, Text: headerHead{Head: NewHead()}, show: show,
		c: c, index: map[string]int{}, expect: headerExpectations(c.Expect),
		withNoise: c.LearnNoise && c.Kind != whittle.Statistical, noise: newHeaderNoise(), cookies: newCookieForms(c, show), values: newValues(show),
	}
}

// Learns reports whether there is noise to be learned.
func (h *Headers) Learns() bool { return h.withNoise }

// LearnNoise has noise learned, whatever the config says.
func (h *Headers) LearnNoise() { h.withNoise = true }

// Choose says that the requests that are repeated are not drawn by chance.
func (h *Headers) Choose() { h.chosen = true }

// Level is at what errors and at which exchange the heads look.
type Level struct {
	Limit, Alpha float64
	N            int
}

// headerRound is one exchange's part for one head: the headers in which the candidate
// differs from the monolith's response, and those in which the monolith's second
// response does.
type headerRound struct{ candidate, again []Pair }

// See takes one exchange in which the status is the same. loose: an undeclared header
// differs that the monolith was never seen to vary. differs: one differs that the
// monolith is known not to vary.
func (h *Headers) See(x *whittle.Exchange, shape uint64, at Level) (loose, differs bool) {
	again := x.Repeat
	if again != nil && (again.Failure != whittle.NoFailure || again.Status != x.Monolith.Status) {
		again = nil
	}
	h.adopt()
	h.N++
	h.Repeats += int(eprocess.Indicator(again != nil))
	if h.Learned == 0 && (h.Repeats >= headerRepeats || h.N >= headerCompared) {
		h.Learned = at.N
	}
	h.asks(x.Request.Header)
	h.list(x)
	h.cookies.Timeless = h.chosen
	h.cookies.see(x, again, at.Alpha*cookieFormPart, at.N)
	h.seeValues(x, again, at.Alpha*valueFormPart, at.N)
	h.watch(x)
	if again == nil && h.same(x.Monolith.Header, x.Candidate.Header) {
		h.Presence.ObserveSame(at.Limit, at.Alpha, at.N)
		h.Text.ObserveSame(at.Limit, at.Alpha, at.N)
		return false, false
	}
	presence, text := h.rounds(x, again, shape)
	textAt := at
	if h.withNoise {
		textAt.Alpha /= 2 // it is decided by direction or by repeats
	}
	lost, lostClean := h.Presence.settle(&presence, again != nil, at, h.Presence.lean)
	reworded, rewordedClean := h.Text.settle(&text, again != nil, textAt, h.leanText(&text))
	h.count(&presence, &text, again != nil)
	if again != nil && h.learnPieces(x, again) {
		h.excuse()
	}
	loose = lost || reworded
	if h.withNoise {
		loose = lostClean || rewordedClean
	}
	// Another text says nothing before something was asked twice, however long ago
	// the first exchange was.
	return loose, lostClean && !h.learning() || rewordedClean && (!h.withNoise || h.Repeats >= headerRepeats)
}

// rounds are the differences of one exchange, for each head.
func (h *Headers) rounds(x *whittle.Exchange, again *whittle.Response, shape uint64) (presence, text headerRound) {
	of := func(p *Pair) *headerRound {
		if p.absent {
			return &presence
		}
		return &text
	}
	for _, name := range h.compared(x, again) {
		if p, ok := h.pair(name, x, &x.Candidate); ok {
			p.Shape, p.Exchange, p.Show = shape, x, h.show
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
	for _, r := range []*headerRound{&presence, &text} {
		r.candidate = h.countOwn(r.candidate, true, again != nil)
		r.again = h.countOwn(r.again, false, true)
	}
	return presence, text
}

// compared gives the headers of an exchange to compare, in an order that does not
// depend on who has them. A new name gets an entry of its own while there is room.
func (h *Headers) compared(x *whittle.Exchange, again *whittle.Response) []string {
	all := []whittle.Header{x.Monolith.Header, x.Candidate.Header}
	if again != nil {
		all = append(all, again.Header)
	}
	here := map[string]bool{}
	for _, header := range all {
		for name := range header {
			if !here[name] && h.compares(name, all) {
				here[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(here))
	others := false
	kept := names[:0]
	for _, name := range names {
		if h.name(name) == nil {
			others = true
			continue
		}
		kept = append(kept, name)
	}
	if others {
		h.name(OtherHeaders)
		kept = append(kept, OtherHeaders)
	}
	responses := []*whittle.Response{&x.Candidate}
	if again != nil {
		responses = append(responses, again)
	}
	return h.varied(kept, x, responses)
}

// name finds what is known of a header, or makes room for it; nil where there is
// none.
func (h *Headers) name(name string) *headerName {
	if i, ok := h.index[name]; ok {
		return &h.Names[i]
	}
	if name != OtherHeaders && len(h.Names) >= HeaderNames {
		return nil
	}
	h.index[name] = len(h.Names)
	h.Names = append(h.Names, headerName{Name: name})
	h.Names[len(h.Names)-1].adopt(h.noise)
	return &h.Names[len(h.Names)-1]
}

// same is the quick look, which most exchanges pass.
func (h *Headers) same(a, b whittle.Header) bool {
	n := 0
	for name, values := range a {
		if other := b[name]; !slices.Equal(values, other) {
			if h.mayCompare(name) {
				return false
			}
		} else if other != nil {
			n++
		}
	}
	if n == len(b) {
		return true
	}
	for name := range b {
		if _, ok := a[name]; !ok && h.mayCompare(name) {
			return false
		}
	}
	return true
}

// learning reports whether too little was asked twice to tell which headers the
// monolith has by chance.
func (h *Headers) learning() bool { return h.withNoise && h.Learned == 0 }

// Noisy lists the headers that the monolith changed by itself.
func (h *Headers) Noisy() []string {
	var list []string
	for i := range h.Names {
		if n := &h.Names[i]; slices.ContainsFunc(n.Ways[:], func(w headerWay) bool { return w.Noisy }) {
			list = append(list, n.Name)
		}
	}
	slices.Sort(list)
	return list
}

// Differing lists the headers in which two responses to the same request differ
// undeclared, and in a way in which the monolith was not seen to vary.
func (h *Headers) Differing(x *whittle.Exchange, a, b *whittle.Response) (names []string) {
	_, pairs := h.pairsOf(x, a, b)
	for i := range pairs {
		if p := &pairs[i]; p.Reason == "" && (!h.withNoise || !p.noisy) {
			names = append(names, p.Path)
		}
	}
	return names
}

// pairsOf are the headers in which two responses to the request of an exchange differ, and the
// exchange that has these two; nil where a side gave no response, or at a quick look all is the
// same.
func (h *Headers) pairsOf(x *whittle.Exchange, a, b *whittle.Response) (one *whittle.Exchange, pairs []Pair) {
	if a.Failure != whittle.NoFailure || b.Failure != whittle.NoFailure || h.same(a.Header, b.Header) {
		return nil, nil
	}
	of := *x
	of.Monolith, of.Candidate = *a, *b
	for _, name := range h.compared(&of, nil) {
		if p, ok := h.pair(name, &of, b); ok {
			pairs = append(pairs, p)
		}
	}
	return &of, pairs
}

// pair is a header in which a response differs from the monolith's, in words fit to
// be shown.
func (h *Headers) pair(name string, x *whittle.Exchange, other *whittle.Response) (Pair, bool) {
	from, to := h.words(name, x, other)
	if from == to {
		return Pair{}, false
	}
	shownFrom, shownTo := from, to
	if name == OtherHeaders && h.show.Redacts() {
		redacted := func(name, word string) string { return shownHeader(h.show, name, word) }
		shownFrom, shownTo = h.othersWord(x.Monolith.Header, x, redacted), h.othersWord(other.Header, x, redacted)
	}
	p := Pair{
		Path: name, absent: from == absent || to == absent,
		From: shownHeader(h.show, name, shownFrom), To: shownHeader(h.show, name, shownTo),
	}
	switch { // the difference is not to be shown, or too far behind
	case p.From != p.To:
	case from == absent:
		p.To += OneSuffix
	case to == absent:
		p.From += OneSuffix
	case from < to:
		p.From, p.To = p.From+OneSuffix, p.To+AnotherSuffix
	default:
		p.From, p.To = p.From+AnotherSuffix, p.To+OneSuffix
	}
	if name == OtherHeaders {
		p.lines = h.others(x.Monolith.Header, other.Header)
	} else {
		name = headerOf(name)
		p.lines = []string{name}
	}
	p.Reason = h.reason(name, x.Request.Host, p.From, p.To, from, to)
	p.OneWay = h.reason(name, x.Request.Host, p.To, p.From, to, from) != ""
	h.way(&p, from, to)
	return p, true
}

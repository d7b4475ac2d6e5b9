package header

import (
	"encoding/json"
	"maps"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
)

// Bounds of what is kept of headers.
const (
	// PlacesMost have a record of their own, by first difference; what differs later has one
	// of each way in common, OtherHeaders, which is never noise.
	PlacesMost   = 64
	OtherHeaders = "other headers"
	noiseMost    = 256 // places of which noise is remembered
)

// How long a difference is only suspected with learned noise: so many repeats, or so many
// exchanges.
const (
	learnRepeats  = 3
	LearnCompared = 500
)

// Headers compares the headers of two responses, each as three places: whether it is there,
// the form of its value, and its value. A place has one record of evidence, from the exchange
// on in which something first differs there.
//
// What it tests at each place: the hypothesis that the two sides, and the monolith's second
// response, are exchangeable given the request and the past. With learned noise two ways lead
// to a decision. By direction: one side never has the header, or the same two texts come
// again and again and never change places. Random values of equal services do neither,
// however they are distributed, nor do two counters. And by repeats, as with the fields of
// JSON, which is the only way where each response has a value of its own: the payoff is
// 1[candidate deviates] − 1[monolith deviates from itself]. What the monolith changed by
// itself is noise then, excused up to a bound (NoiseBound), and still compared by its form.
// Without learned noise nothing is excused.
//
// Error rate: twice that of a head in all. Of it the values of cookies and of headers take a
// sixth of a head's, and the j-th place 1/(j(j+1)) of the rest, in two parts: for
// direction and for repeats. Source: Ville's inequality.
type Headers struct {
	Places []place `json:"places"`
	// Noise are the places, by key, at which the monolith was seen to vary by itself. The
	// evidence of both orders of asking shares one, since it is about the monolith alone.
	Noise map[string]bool `json:"noise"`
	// Added are the differences in what servers add by themselves.
	Added []Change `json:"added"`
	// Repeats of N exchanges were asked twice.
	Repeats int `json:"repeats"`
	N       int `json:"n"`
	// Forms is what is known of the form of cookies and of the headers that vary; see Kept.
	Forms json.RawMessage `json:"forms"`

	c      whittle.Comparison
	index  map[string]int // of Places
	expect []headerExpectation
	// withNoise says that there is noise to be learned, chosen that the repeated
	// requests are not drawn by chance.
	withNoise, chosen bool
	show              *display.View
	values            *values
	own               map[string]*ownState // by name
	whole             map[string]bool      // those that vary and do not have the same pieces
	partly            [len(partly)]bool
}

// Parts of a head's error rate.
const (
	valuesPart    = 1.0 / 6 // of the values of cookies and of headers
	directionPart = 5.0 / 6
)

// New compares the headers that a comparison names; show redacts what is shown.
func New(c whittle.Comparison, show *display.View) Headers {
	h := Headers{
		Noise: map[string]bool{}, show: show, c: c, index: map[string]int{}, expect: headerExpectations(c.Expect),
		withNoise: c.LearnNoise && c.Kind != whittle.Statistical, own: map[string]*ownState{}, whole: map[string]bool{},
	}
	h.values = newValues(&c, show)
	return h
}

// LearnNoise has noise learned, whatever the config says.
func (h *Headers) LearnNoise() { h.withNoise = true }

// Choose says that the requests that are repeated are not drawn by chance.
func (h *Headers) Choose() { h.chosen = true }

// ShareNoise lets two orders of asking learn of one monolith.
func (h *Headers) ShareNoise(other *Headers) {
	maps.Copy(h.Noise, other.Noise)
	other.Noise = h.Noise
}

// Level is at what errors and at which exchange the places look.
type Level struct {
	Limit, Alpha float64
	N            int
}

// See takes one exchange in which the status is the same. loose: an undeclared header
// differs that the monolith was never seen to vary. differs: that is known.
func (h *Headers) See(x *whittle.Exchange, shape uint64, at Level) (loose, differs bool) {
	again := x.Repeat
	if again != nil && (again.Failure != whittle.NoFailure || again.Status != x.Monolith.Status) {
		again = nil
	}
	h.N++
	h.Repeats += int(eprocess.Indicator(again != nil))
	h.list(x)
	h.seeValues(x, again, at)
	h.watch(x)
	var second []Pair
	candidate := h.pairs(x, &x.Candidate)
	h.assign(form.Candidate, candidate, shape, x)
	if again != nil {
		second = h.pairs(x, again)
		h.assign(form.Repeat, second, shape, x)
	}
	for i := range h.Places {
		h.settle(i, again != nil, at)
	}
	h.learn(second)
	for i := range candidate {
		p := &candidate[i]
		loose = loose || p.Reason == "" && !h.Noise[p.key()]
	}
	return loose, loose && !h.learning()
}

// learning reports whether too little was asked twice to tell noise from difference.
func (h *Headers) learning() bool {
	return h.withNoise && h.Repeats < learnRepeats && h.N < LearnCompared
}

// pairs are the headers in which a response differs from the monolith's, and of those that are
// known to vary the pieces, in an order that does not depend on who has them.
func (h *Headers) pairs(x *whittle.Exchange, other *whittle.Response) (list []Pair) {
	both := []whittle.Header{x.Monolith.Header, other.Header}
	for _, name := range differing(both[0], both[1], func(name string) bool { return h.compares(name, both) }) {
		from, to := h.words(name, x, other)
		if from == to {
			continue
		}
		list = append(list, h.pair(name, name, x, from, to))
		if from == absent || to == absent || name == SetCookie || !h.Noise[key(name, valued)] {
			continue
		}
		a, between := form.Pieces([]byte(from))
		b, as := form.Pieces([]byte(to))
		if len(a) == 0 || between != as {
			h.whole[name] = true
			continue
		}
		for i := range a {
			if a[i].Text == b[i].Text {
				continue
			}
			p := h.pair(name, name+" ("+a[i].Name+")", x, a[i].Text, b[i].Text)
			if _, known := h.index[p.key()]; known || len(h.Places) < PlacesMost/2 {
				list = append(list, p)
			}
		}
	}
	return list
}

// wholeOf is the name of the header that a place is, or is a piece of.
func wholeOf(name string) string {
	if form.IsPiece(name) && !strings.HasSuffix(name, inTrailer) {
		name = name[:strings.LastIndex(name, " (")]
	}
	return name
}

// assign gives the pairs of one side's response to the places that they are at.
func (h *Headers) assign(side int, pairs []Pair, shape uint64, x *whittle.Exchange) {
	for i := range pairs {
		o := &pairs[i]
		o.Shape, o.Exchange, o.Show = shape, x, h.show
		if p := h.place(o); p.now[side] == nil {
			p.now[side] = o
		}
	}
}

// Varies takes note that the monolith gave two different responses to a request.
func (h *Headers) Varies(x *whittle.Exchange, a, b *whittle.Response) {
	for learned := true; learned; { // once more for the pieces of what is known to vary now
		learned = a.Status == b.Status && h.learn(h.pairsOf(x, a, b))
	}
}

// Differing lists the headers in which two responses to the same request differ
// undeclared, and in a way in which the monolith was not seen to vary.
func (h *Headers) Differing(x *whittle.Exchange, a, b *whittle.Response) (names []string) {
	for _, p := range h.pairsOf(x, a, b) {
		if p.Reason == "" && !h.Noise[p.key()] {
			names = append(names, p.Path)
		}
	}
	return names
}

// pairsOf are the headers in which two responses to the request of an exchange differ; none
// where a side gave no response.
func (h *Headers) pairsOf(x *whittle.Exchange, a, b *whittle.Response) []Pair {
	if a.Failure != whittle.NoFailure || b.Failure != whittle.NoFailure {
		return nil
	}
	of := *x
	of.Monolith, of.Candidate = *a, *b
	return h.pairs(&of, b)
}

// pair is a header, or a piece of one, in which a response differs from the monolith's, in
// words fit to be shown.
func (h *Headers) pair(name, path string, x *whittle.Exchange, from, to string) Pair {
	p := Pair{
		Path: path, side: 1,
		From: shownHeader(h.show, name, from), To: shownHeader(h.show, name, to),
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
	p.Reason = h.reason(name, x.Request.Host, p.From, p.To, from, to)
	p.OneWay = h.reason(name, x.Request.Host, p.To, p.From, to, from) != ""
	p.differ(from, to)
	return p
}

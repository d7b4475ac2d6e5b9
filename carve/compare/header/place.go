package header

import (
	"strconv"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/noise"
)

// way is what of a header a place is.
type way uint8

// The ways: whether the header is there; the form of its value; its value, where the form is
// the same.
const (
	there way = iota
	formed
	valued
	ways
)

// place is one thing of one header, with all that is known of it.
type place struct {
	Name string `json:"name"`
	Way  way    `json:"way"`
	Head
	// Again counts those of Count that were repeated.
	Again int `json:"again,omitempty"`
	// Pair is what the two sides said, without saying who did, and Side who; Broken says that
	// they said something else since, or changed places.
	Pair   uint64 `json:"pair,omitempty"`
	Side   int32  `json:"side,omitempty"`
	Broken bool   `json:"broken,omitempty"`

	now   [form.Repeat + 1]*Pair // of each side in the present exchange
	fresh bool                   // which named the place: it is no evidence
}

func key(name string, w way) string { return strconv.Itoa(int(w)) + name }

func (o *Pair) key() string { return key(o.Path, o.way) }

func (p *place) key() string { return key(p.Name, p.Way) }

// place finds the record of what differs, or makes one.
func (h *Headers) place(o *Pair) *place {
	i, known := h.index[o.key()]
	name := o.Path
	if !known && len(h.Places) >= PlacesMost {
		name = OtherHeaders
		i, known = h.index[key(name, o.way)]
	}
	if !known {
		i = len(h.Places)
		h.index[key(name, o.way)] = i
		h.Places = append(h.Places, place{Name: name, Way: o.way, Head: NewHead()})
		h.Places[i].N, h.Places[i].fresh = h.N-1, true
	}
	return &h.Places[i]
}

// noisy reports whether the monolith was seen to vary at a place by itself.
func (h *Headers) noisy(p *place) bool { return h.Noise[p.key()] }

// learn takes what the monolith changed by itself for noise, and reports whether any is new.
// What varies in form varies in value.
func (h *Headers) learn(pairs []Pair) (learned bool) {
	if !h.withNoise {
		return false
	}
	for i := range pairs {
		list := []string{pairs[i].key()}
		if pairs[i].way == formed {
			list = append(list, key(pairs[i].Path, valued))
		}
		for _, k := range list {
			if !h.Noise[k] && len(h.Noise) < noiseMost {
				h.Noise[k], learned = true, true
			}
		}
	}
	return learned
}

// settle takes one exchange to the record at an index.
func (h *Headers) settle(i int, repeated bool, at Level) {
	p := &h.Places[i]
	o, self := p.now[form.Candidate], p.now[form.Repeat]
	p.now = [len(p.now)]*Pair{}
	if o == nil && !repeated {
		p.ObserveSame(at.Limit, at.Alpha, at.N)
		return
	}
	part := eprocess.OfNth(at.Alpha, i+1)
	differs := o != nil
	if !differs {
		o = &Pair{}
	}
	o.Again, o.Self = repeated, self != nil && self.Reason == ""
	if differs {
		p.keepFew(o, placeChanges)
	}
	if differs && o.Reason == "" {
		p.Again += int(eprocess.Indicator(repeated))
		switch {
		case p.Pair == 0:
			p.Pair, p.Side = o.pair, o.side
		case p.Pair != o.pair || p.Side != o.side:
			p.Broken = true
		}
	}
	o.Unbet = p.Broken && p.Way != formed
	before := p.Head
	p.settle(o, differs, Level{Limit: at.Limit, Alpha: part * directionPart, N: at.N}, part)
	if p.fresh {
		p.fresh, p.Same, p.Share, p.Self = false, before.Same, before.Share, before.Self
	}
}

// placeChanges bounds the changes that are distinguished at a place.
const placeChanges = 3

// differ finds out in which way two words differ.
func (o *Pair) differ(from, to string) {
	a, b := from, to
	switch {
	case from == absent || to == absent:
		o.way, o.pair = there, 1
		if from == absent {
			o.side = -1
		}
		return
	default:
		o.way = valued
		if x, y := form.Shape(from), form.Shape(to); x != y {
			o.way, a, b = formed, x, y
		}
	}
	if a > b {
		a, b, o.side = b, a, -1
	}
	w := digest.Hash(uint64(o.way))
	w.Text(a)
	w.Text(b)
	o.pair = uint64(w) | 1
}

// shownAt is the exchange at which a place was shown to differ, by direction or by repeats; 0:
// it is not.
func (h *Headers) shownAt(p *place, limit float64) int {
	noisy := h.noisy(p)
	if p.Share.At == 0 || float64(p.Count) <= limit*float64(p.N) || h.mayBeOwn(p) {
		return 0
	}
	at := 0
	if changed := h.changed(p); p.Self.At > 0 && (!noisy || changed.Beyond() > noise.Slack) {
		at = max(p.Self.At, p.Share.At)
	}
	if fast := max(p.Same.At, p.Share.At); p.Same.At > 0 && !noisy && (at == 0 || fast < at) && (!p.Broken || p.Way == formed) {
		at = fast
	}
	return at
}

// Open is how many exchanges differ in headers undeclared, in a way that is not learned as
// noise: at most so many, for one exchange may differ in several.
func (h *Headers) Open() (n int) {
	for i := range h.Places {
		if p := &h.Places[i]; !h.noisy(p) {
			n += p.Count
		}
	}
	return n
}

// BoundHeaderNoise is the name of the bound on what noise in headers excuses.
const BoundHeaderNoise = "header noise"

// NoiseBound bounds by how much more often than the monolith itself the candidate
// differs in what was learned as noise, as match.noiseBound does for fields. ok is
// false where nothing was learned; more is how many exchanges it still takes, -1
// where it cannot be said.
func (h *Headers) NoiseBound(alpha float64) (b whittle.Bound, more int, ok bool) {
	var list []noise.Changed
	for i := range h.Places {
		if p := &h.Places[i]; h.noisy(p) {
			list = append(list, h.changed(p))
		}
	}
	if len(list) == 0 {
		return b, 0, false
	}
	worst := noise.Worst(list, alpha)
	return worst.AsBound(BoundHeaderNoise, alpha), worst.Left(alpha), true
}

// changed counts how often a place differed.
func (h *Headers) changed(p *place) noise.Changed {
	c := noise.Changed{Path: "header " + p.Name, Candidate: p.Count, N: h.N, Monolith: p.SelfCount, Repeats: h.Repeats}
	if h.chosen {
		c.Candidate, c.N = p.Again, h.Repeats
	}
	return c
}

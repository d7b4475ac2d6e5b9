package header

import (
	"slices"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// headerHow is a way in which two responses can differ in one header.
type headerHow uint8

// The ways: one side does not have it; it has another form; it has the same form
// and another value.
const (
	headerThere headerHow = iota
	headerForm
	headerValue
	headerHows
)

// headerName is what is known of one header.
type headerName struct {
	Name  string                `json:"name"`
	Ways  [headerHows]headerWay `json:"ways"`
	held  held                  // of its words
	there held                  // of whether it is there
}

// headerWay is what is known of one way.
type headerWay struct {
	// Noisy says that the monolith was seen to vary so by itself.
	Noisy bool `json:"noisy,omitempty"`
	// Candidate counts the exchanges in which the candidate differs so, undeclared;
	// Again those of them that were repeated; Self the monolith's repeats that did.
	Candidate int `json:"candidate,omitempty"`
	Again     int `json:"again,omitempty"`
	Self      int `json:"self,omitempty"`
	// Pair is what the two sides said in each of Leant exchanges, without saying
	// who did; Leant is negative where it was the other way round. Broken says that
	// they said something else in one, or changed places.
	Pair   uint64 `json:"pair,omitempty"`
	Leant  int32  `json:"leant,omitempty"`
	Broken bool   `json:"broken,omitempty"`
	// Net counts, of exchanges in which one side alone has the header, those in which it is
	// the monolith less the others; SelfNet is the same of the monolith's two responses.
	Net     int `json:"net,omitempty"`
	SelfNet int `json:"self_net,omitempty"`
}

// way finds out in which way a pair differs.
func (h *Headers) way(p *Pair, from, to string) {
	p.way = headerValue
	if a, b := formOf(from), formOf(to); p.absent {
		p.way, p.pair, p.side = headerThere, 1, 1
		if from == absent {
			p.side = -1
		}
	} else {
		if !alike(from, to, a, b) {
			p.way = headerForm
		} else {
			a, b = from, to
		}
		p.side = 1
		if a > b {
			a, b, p.side = b, a, -1
		}
		w := digest.Hash(uint64(p.way))
		w.Text(a)
		w.Text(b)
		p.pair = uint64(w) | 1
	}
	if n := h.name(p.Path); n != nil {
		p.noisy = n.Ways[p.way].Noisy
	}
}

// see takes note of what the two sides said.
func (w *headerWay) see(p *Pair, repeated bool) {
	w.Candidate++
	w.Net += int(p.side)
	w.Again += int(eprocess.Indicator(repeated))
	switch {
	case w.Leant == 0:
		w.Pair, w.Leant = p.pair, p.side
	case w.Pair != p.pair, sign(w.Leant) != p.side:
		w.Broken = true
	default:
		w.Leant = saturate(w.Leant + p.side)
	}
}

// seeSelf takes note of what the monolith's two responses said.
func (w *headerWay) seeSelf(p *Pair) {
	w.Self++
	w.SelfNet += int(p.side)
}

// leanText bets on a header with different values. Without learned noise the bet is the
// one of status and content type (lean). With it, the bet is that each side repeats
// its value: on a pair of forms, by their past, and on a pair of values, if no other
// was ever seen. So it does not bet on values made for each response: two counters or
// two clocks always differ in the same direction, which is no evidence.
//
// For equivalent services each may have either value, so the bet is fair.
func (h *Headers) leanText(r *headerRound) func(*Pair, float64, int) {
	if !h.withNoise {
		return func(p *Pair, alpha float64, n int) { h.Text.lean(p, alpha*directionPart, n) }
	}
	return func(_ *Pair, alpha float64, n int) {
		var best int32
		for i := range r.candidate {
			if p := &r.candidate[i]; p.Reason == "" && !p.OneWay && !p.noisy {
				if d := h.leant(p) * p.side; max(d, -d) > max(best, -best) {
					best = d
				}
			}
		}
		h.Text.Same.Bet(float64(sign(best)), alpha*directionPart, n)
		for i := range r.candidate {
			if p := &r.candidate[i]; p.way == headerForm {
				slot := h.formSlot(p)
				*slot = saturate(*slot + p.side)
			}
		}
	}
}

// leant is how a pair lay before.
func (h *Headers) leant(p *Pair) int32 {
	if p.way == headerForm {
		return *h.formSlot(p)
	}
	n := h.name(p.Path)
	if n == nil {
		return 0
	}
	if w := &n.Ways[p.way]; !w.Broken && w.Pair == p.pair {
		return w.Leant
	}
	return 0
}

// formSlot is where the direction of a header's pair of forms is remembered.
func (h *Headers) formSlot(p *Pair) *int32 {
	w := digest.Hash(p.pair)
	w.Text(p.Path)
	return &h.Text.Lean[digest.Mix(uint64(w))%leanSlots]
}

// count takes one exchange's differences to what is known of the headers, and learns
// from the repeat.
func (h *Headers) count(presence, text *headerRound, repeated bool) {
	learned := false
	for _, r := range []*headerRound{presence, text} {
		for i := range r.candidate {
			if p := &r.candidate[i]; p.Reason == "" {
				if n := h.name(p.Path); n != nil {
					n.Ways[p.way].see(p, repeated)
				}
			}
		}
		for i := range r.again {
			p := &r.again[i]
			if n := h.name(p.Path); n != nil && p.Reason == "" {
				n.Ways[p.way].seeSelf(p)
			}
			learned = h.learn(p) || learned
		}
	}
	if h.withNoise {
		h.loosen(presence, text)
	}
	if learned {
		h.excuse()
	}
}

// looseMost bounds the sets of ways distinguished; the rest count as one set of all of
// them, which is noise when all are.
const looseMost = 64

// looseHeaders are exchanges that differ undeclared in the same ways: one bit for
// each of Names, in each way.
type looseHeaders struct {
	Ways  [headerHows]uint64 `json:"ways"`
	Count int                `json:"count"`
}

// loosen counts an exchange that differs in ways that are no noise.
func (h *Headers) loosen(presence, text *headerRound) {
	var set looseHeaders
	for _, r := range []*headerRound{presence, text} {
		for i := range r.candidate {
			p := &r.candidate[i]
			if at, ok := h.index[p.Path]; ok && p.Reason == "" && !h.Names[at].Ways[p.way].Noisy {
				set.Ways[p.way] |= 1 << at
			}
		}
	}
	if set.Ways != [headerHows]uint64{} {
		set.Count = 1
		h.addLoose(set)
	}
}

func (h *Headers) addLoose(set looseHeaders) {
	i := slices.IndexFunc(h.Loose, func(l looseHeaders) bool { return l.Ways == set.Ways })
	switch {
	case i >= 0:
	case len(h.Loose) < looseMost:
		h.Loose = append(h.Loose, set)
		return
	default:
		i = len(h.Loose) - 1
		for way := range set.Ways {
			h.Loose[i].Ways[way] |= set.Ways[way]
		}
	}
	h.Loose[i].Count += set.Count
}

// excuse takes what has become noise out of what was counted before it was known.
func (h *Headers) excuse() {
	before := h.Loose
	h.Loose = nil
	for _, set := range before {
		for at := range h.Names {
			for way := range set.Ways {
				if h.Names[at].Ways[way].Noisy {
					set.Ways[way] &^= 1 << at
				}
			}
		}
		if set.Ways != [headerHows]uint64{} {
			h.addLoose(set)
		}
	}
}

// Open is how many exchanges differ in headers undeclared, in a way that is not
// learned as noise. It is 0 where none is learned, and the caller counts.
func (h *Headers) Open() (n int) {
	h.adopt()
	for i := range h.Loose {
		n += h.Loose[i].Count
	}
	return n
}

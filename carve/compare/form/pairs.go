package form

import (
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
)

// Of two values that vary, the one may follow from the other: a title from an id, a user's id
// from the session of the request. Where the monolith's do, a candidate's value that goes
// with another key is unusual. Such a wrong pair counts once in pairEvery, so that data which
// the two sides read at different times are one row's, and only a value that the monolith
// gives to another key is one: an id that each server gives out by itself is none.

// Bounds of pairs.
const (
	partnersMost = 3   // places that are tried as the key of another
	pairKeys     = 128 // keys of one pair
	pairLeast    = 24  // times that a key came again with its value
	pairValues   = 3   // different ones, at the least
	pairTries    = 512 // after which a pair whose keys never come again is given up
	pairWrong    = 128 // wrong pairs that are told apart
	pairEvery    = 10 * time.Second
)

// What of a request may be a key, numbered so that they are no indices of places.
const (
	keyUser = -1 - iota
	keySession
	keyTarget
	keysOfRequest = 3
)

// partner is what a place's values may follow from.
type partner struct {
	key          int // the index of a place, or what of the request
	name         string
	to           map[uint64]uint64
	values       map[uint64]bool
	spent        map[uint64]moment // wrong pairs that counted
	again, tries int
	over         bool // the values do not follow from it
}

// requestKeys are the keys that a request has; 0: it has none.
func requestKeys(q *whittle.Exchange) (keys [keysOfRequest]uint64) {
	keys[-1-keyUser] = q.User
	var h digest.Hash
	for _, name := range []string{"Authorization", "Cookie"} {
		for _, v := range q.Request.Header[name] {
			h.Text(v)
		}
	}
	keys[-1-keySession] = uint64(h)
	h = 0
	h.Text(q.Request.Target)
	keys[-1-keyTarget] = uint64(h)
	return keys
}

// meet makes partners of a place and those before it that stand next to it.
func (f *Forms) meet(i int) {
	p := f.paths[i]
	p.partners = nil
	for k, name := range []string{"the request's user", "the request's session", "the request's target"} {
		p.partners = append(p.partners, &partner{key: -1 - k, name: name})
	}
	for k := range f.paths[:i] {
		if len(p.partners) == keysOfRequest+partnersMost {
			break
		}
		if !f.named && parentOf(f.paths[k].Path) == parentOf(p.Path) {
			p.partners = append(p.partners, &partner{key: k, name: f.paths[k].Path})
		}
	}
}

// parentOf is the pattern that a place stands below.
func parentOf(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// keysOf are the keys of a side's values by a partner, one for each; nil: there are not as
// many.
func (e *formExchange) keysOf(t *partner, side int, n int) []uint64 {
	if t.over || n == 0 {
		return nil
	}
	keys := e.keys[:0]
	if t.key < 0 {
		if e.request[-1-t.key] == 0 {
			return nil
		}
		for range n {
			keys = append(keys, e.request[-1-t.key])
		}
	} else {
		of := e.sides[side].values[t.key]
		if len(of) != n {
			return nil
		}
		for i := range of {
			if of[i].form.class == classTime || of[i].form.class == classDecimal {
				return nil
			}
			keys = append(keys, of[i].hash)
		}
	}
	e.keys = keys
	return keys
}

// ready reports whether the values were seen to follow from the partner's.
func (t *partner) ready() bool {
	return !t.over && t.again >= pairLeast && len(t.to) >= pairValues && len(t.values) >= pairValues
}

// pairCategory says whether a side's values go with their keys.
func (p *formPath) pairCategory(list []category, side int, values []value, e *formExchange) []category {
	i := slices.IndexFunc(p.partners, (*partner).ready)
	if i < 0 {
		return list
	}
	t := p.partners[i]
	keys := e.keysOf(t, side, len(values))
	if keys == nil {
		return list
	}
	wrong := false
	for k, key := range keys {
		if t.isWrong(key, values[k].hash, e.at) {
			wrong = true
			e.wrong = append(e.wrong, digest.Stir(key)^values[k].hash)
		}
	}
	return append(list, either(wrong, "the value that goes with it", "a value that goes with another"))
}

func (t *partner) isWrong(key, v uint64, at time.Time) bool {
	is, known := t.to[key]
	if !known || is == v || key == 0 || v == 0 || !t.values[v] {
		return false
	}
	last, counted := t.spent[digest.Stir(key)^v]
	return counted && last.lies(pairEvery, at) || !counted && len(t.spent) < pairWrong
}

// pairUp takes the values of an exchange to what is known of each partner.
func (p *formPath) pairUp(e *formExchange) {
	if len(e.wrong) > 0 {
		t := p.partners[slices.IndexFunc(p.partners, (*partner).ready)]
		for _, pair := range e.wrong {
			t.spent[pair] = momentOf(e.at)
		}
	}
	for _, t := range p.partners {
		for side, values := range [3][]value{Monolith: e.monolith, Repeat: e.repeat} {
			for k, key := range e.keysOf(t, side, len(values)) {
				if v := values[k].hash; key != 0 && v != 0 && !t.see(key, v) {
					p.takeBack(featPair)
					break
				}
			}
		}
	}
}

// see takes a pair of the monolith's; false: it shows that the values do not follow.
func (t *partner) see(key, v uint64) bool {
	if t.to == nil {
		t.begin(map[uint64]uint64{}, map[uint64]moment{})
	}
	t.tries++
	switch is, known := t.to[key]; {
	case known && is != v, t.tries > pairTries && t.again < pairLeast:
		was := t.ready()
		*t = partner{key: t.key, name: t.name, over: true}
		return !was
	case known:
		t.again++
	case len(t.to) < pairKeys:
		t.to[key], t.values[v] = v, true
	}
	return true
}

// begin has what is known of pairs, and of the wrong ones that counted.
func (t *partner) begin(to map[uint64]uint64, spent map[uint64]moment) {
	t.to, t.spent, t.values = to, spent, map[uint64]bool{}
	for _, v := range to {
		t.values[v] = true
	}
}

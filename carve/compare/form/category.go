package form

import (
	"slices"

	"whittle/carve/compare/digest"
)

// category is what a feature says of one value.
type category struct {
	code  uint64
	word  string    // what it is called; empty: as form and size of value are
	value *value    // valid during the exchange
	sized bool      // its size, not its form
	class formClass // of the feature form
}

// either is one of two categories: 0 is the usual one and 1 the other.
func either(odd bool, usual, other string) category {
	if odd {
		return category{code: 1, word: other}
	}
	return category{word: usual}
}

func (c *category) words() string {
	switch {
	case c.value == nil:
		return c.word
	case c.sized:
		return sizeWords(c.value.form, c.value.size)
	}
	return c.value.form.String()
}

// categories are those of a side's values in one feature, in the memory of list.
func (p *formPath) categories(list []category, k, side int, values []value, e *formExchange) []category {
	switch k {
	case featPresence:
		return append(list, either(len(values) > 0, "absent", "there"))
	case featTwice:
		return twiceCategory(list, values)
	case featSorted:
		return sortedCategory(list, values)
	case featStill:
		return p.still.category(list, side, values)
	case featMember:
		return p.members.category(list, values)
	case featPair:
		return p.pairCategory(list, side, values, e)
	case featRange:
		return p.ends.category(list, values, p.areTimes())
	case featChars:
		return p.chars.category(list, values, e.n)
	}
	for i := range values {
		if c, ok := p.category(k, side, &values[i], e); ok && !slices.ContainsFunc(list, func(o category) bool { return o.code == c.code }) {
			list = append(list, c)
		}
		if m := &p.recent[side%2]; k == featRepeat {
			m.body = append(m.body, values[i].hash)
		}
	}
	p.recent[side%2].body = p.recent[side%2].body[:0]
	return list
}

// category is what a feature says of a value; ok is false where it says nothing.
func (p *formPath) category(k, side int, v *value, e *formExchange) (c category, ok bool) {
	switch k {
	case featForm:
		if v.isZero() && p.isNumber() {
			return c, false // it is written alike whatever the decimals of others
		}
		return category{code: v.form.code(), value: v, class: v.form.class}, true
	case featWord:
		return category{code: v.words(), word: "a word"}, v.words() != 0
	case featEcho:
		if v.plain == 0 {
			return c, false
		}
		return category{code: digest.FNV([]byte(v.echo)), word: v.echo}, true
	case featTime:
		return p.timeCategory(side, v, e)
	case featRepeat:
		if v.hash == 0 || v.form.class == classBool || v.form.class == classEmpty {
			return c, false
		}
		return either(p.recent[side%2].came(v.hash), "a new value", "an earlier value"), true
	case featFall:
		return p.orderCategory(side, v)
	}
	return category{code: uint64(v.size), value: v, sized: true}, v.size >= 0
}

// timeCategory says whether a time lies where those of the monolith lay.
func (p *formPath) timeCategory(side int, v *value, e *formExchange) (c category, ok bool) {
	if v.at.IsZero() || e.timeless || e.at.IsZero() || len(p.Offsets) < formWarm {
		return c, false
	}
	low, high := p.window(v.form)
	switch off := v.at.Sub(e.moment(side)).Milliseconds(); {
	case off < low:
		return category{code: 1, word: "earlier"}, true
	case off > high:
		return category{code: 2, word: "later"}, true
	}
	if _, stale := p.isStale(v, e.clocks[side]); stale {
		return category{code: 3, word: staleWord}, true
	}
	return category{code: 0, word: "as usual"}, true
}

// window is where times of the monolith lay lately, in ms from the request, and half
// as much again to both sides.
func (p *formPath) window(f form) (low, high int64) {
	low, high = slices.Min(p.Offsets), slices.Max(p.Offsets)
	pad := max(timeSlack, (high-low)/2)
	if f.detail == writtenDate {
		pad = max(pad, dateSlack)
	}
	return low - pad, high + pad
}

// nowRange is how far apart the distances of times that are made anew may be, in ms.
const nowRange = 10_000

// ofNow reports whether the monolith's times are all as far from the request.
func (p *formPath) ofNow() bool {
	if len(p.Offsets) < formWarm {
		return false
	}
	t := &p.feature[featForm].M
	return t.top().Class == classTime && 10*t.top().Count >= 9*t.N && slices.Max(p.Offsets)-slices.Min(p.Offsets) <= nowRange
}

// orderCategory says whether a number lies below the middle of the last ones of its
// side.
func (p *formPath) orderCategory(side int, v *value) (c category, ok bool) {
	last := p.orders[side%2]
	if !v.counts || len(last) < ordersKept || p.unordered() {
		return c, false
	}
	return either(v.number < middle(last), "rising", "below earlier ones"), true
}

// rising reports whether the monolith's numbers are those of a counter. Another one
// begins elsewhere, so its numbers have another length.
func (p *formPath) rising() bool { return p.Ranked >= 3 && 10*p.Rises >= 9*p.Ranked }

// falling is rising downwards.
func (p *formPath) falling() bool { return p.Ranked >= 3 && 10*p.Sinks >= 9*p.Ranked }

// numbered reports whether whole numbers are given out, so that none comes twice.
// Another service gives out others, and where many requests are under way at once
// they do not even rise. Those that begin with zeros are all as long as each other.
func (p *formPath) numbered() bool {
	if p.padded {
		return false
	}
	top, again := p.feature[featForm].M.top().Class, &p.feature[featRepeat].M
	return p.rising() || p.slow.rising() || (top == classInteger || top == classDigits) && float64(again.count(1)) <= 0.05*float64(again.N)
}

// ranksKnown is after how many numbers a place is known to be a counter or none.
const ranksKnown = 16

// counter reports whether the numbers are those of a counter for sure; unordered,
// that they are not, so that their order is no longer looked at.
func (p *formPath) counter() bool { return p.Ranked >= ranksKnown && p.rising() }

func (p *formPath) unordered() bool {
	return p.Ranked >= ranksKnown && !p.rising() && !p.falling()
}

// How far from the monolith's usual distances a time may be: clocks differ, and the
// candidate is asked later.
const (
	timeSlack = 5_000 // ms
	dateSlack = 36 * 3600 * 1000
)

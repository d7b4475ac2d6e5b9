package form

import (
	"slices"
	"time"

	"whittle"
)

// category is the value of a derived place.
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

// categories are those of a side's values at one derived place, in the memory of list.
func (p *formPath) categories(list []category, k, side int, values []value, e *formExchange) []category {
	if k == featPresence {
		return append(list, either(len(values) > 0, "absent", "there"))
	}
	m := &p.Recent[side%2]
	for i := range values {
		if c, ok := p.category(k, side, &values[i], e); ok && !slices.ContainsFunc(list, func(o category) bool { return o.code == c.code }) {
			list = append(list, c)
		}
		if k == featRepeat {
			m.body = append(m.body, values[i].hash)
		}
	}
	m.body = m.body[:0]
	return list
}

// category is what is derived from a value; ok is false where it is nothing.
func (p *formPath) category(k, side int, v *value, e *formExchange) (c category, ok bool) {
	switch k {
	case featForm:
		if v.isZero() && p.top() == classDecimal {
			return c, false // it is written alike whatever the decimals of others
		}
		return category{code: v.form.code(), value: v, class: v.form.class}, true
	case featWord:
		return category{code: v.hash, word: "a word"}, v.form.class == classWord || v.form.class == classBool
	case featTime:
		return p.timeCategory(side, v, e)
	case featRepeat:
		if v.hash == 0 || v.form.class == classBool || v.form.class == classEmpty {
			return c, false
		}
		came := p.Recent[side%2].came(v.hash)
		if came && !v.at.IsZero() && p.ofNow() {
			came = false // requests that waited in the mirror's queue come in one moment; featTime finds a clock that stands still
		}
		return either(came, "a new value", "an earlier value"), true
	}
	return category{code: uint64(v.size), value: v, sized: true}, v.size >= 0 && (v.form.class != classDigits || p.Padded)
}

// How far from the monolith's usual distances a time may be, in ms: clocks differ, and the
// candidate is asked later. Simulation: TestFreshTimesAreAsFar.
const (
	timeSlack   = nowRange / 2
	nowRange    = 10_000 // within which distances of times that are made anew lie
	offsetsKept = 24     // times
)

// timeCategory says whether a time lies where those of the monolith lay lately, and half as
// much again to both sides, from the moment at which the side was asked.
func (p *formPath) timeCategory(side int, v *value, e *formExchange) (c category, ok bool) {
	if v.at.IsZero() || e.timeless || e.at.IsZero() || len(p.Offsets) < formWarm {
		return c, false
	}
	low, high := slices.Min(p.Offsets), slices.Max(p.Offsets)
	pad := max(timeSlack, (high-low)/2)
	switch off := v.at.Sub(e.moment(side)).Milliseconds(); {
	case off < low-pad:
		return category{code: 1, word: "earlier"}, true
	case off > high+pad:
		return category{code: 2, word: "later"}, true
	}
	return category{code: 0, word: "as usual"}, true
}

// ofNow reports whether the monolith's times are all as far from the request.
func (p *formPath) ofNow() bool {
	if len(p.Offsets) < formWarm {
		return false
	}
	t := &p.feature[featForm].M
	return t.top().Class == classTime && 10*t.top().Count >= 9*t.N && slices.Max(p.Offsets)-slices.Min(p.Offsets) <= nowRange
}

// dateLater is how much later than the request a Date may be for it to be the moment that
// times are held against: it says for how long the request has queued, unless its clock is
// wrong by more than that. One that is older by more than nowRange may come out of a cache.
const dateLater = time.Minute

func dateOf(a *whittle.Response) time.Time {
	at, _ := Date(a.Header.Get("Date"))
	return at
}

// moment is when a side was asked, by its own clock if its Date says so: a queue before it,
// and a clock that is wrong, are then no matter of the times that it writes.
func (e *formExchange) moment(side int) time.Time {
	date := e.clocks[side]
	if d := date.Sub(e.at); e.at.IsZero() || d > dateLater || d < -nowRange*time.Millisecond {
		return e.at
	}
	return date
}

package form

import (
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
)

// The features of a value, each of which is one test.
const (
	featForm     = iota // type and format
	featPresence        // whether it is there, where the monolith leaves it out at times
	featWord            // which word, of a few
	featEcho            // where else the same value stands
	featTime            // how far from the time of the request
	featRepeat          // whether it came before
	featFall            // whether it is below those before, where they rise
	featSize            // length, number of elements, power of ten
	features
)

// Bounds of what is remembered of one place. Of values only hashes are kept, and the
// last numbers of what may be a counter.
const (
	remembered  = 128 // hashes of values on each side
	offsetsKept = 24
	ordersKept  = 9
	wordsMost   = 16
	wordsWarm   = 8
)

// formPath is one place that is compared by form.
type formPath struct {
	path string
	rule string
	born int
	// varies are the ways in which the monolith varies there.
	varies  []string
	feature [features]feature
	// Samples are exchanges in which the candidate's form was unusual.
	Samples []whittle.Sample
	// offsets are those of the monolith's last times, in ms; off is a recent one of
	// the candidate that lay elsewhere.
	offsets []int64
	off     int64
	// ages are how far the monolith's last times are from their Dates, in ms; lag is
	// how much older one of the candidate's was.
	ages []int64
	lag  int64

	vocabulary map[uint64]int // of the monolith
	worded     int
	recent     [2]recentValues
	orders     [2][]int64
	rises      int // values of the monolith in a row that rose
	ranked     int
}

func newFormPath(path string, n int, rule string) *formPath {
	p := &formPath{path: path, rule: rule, born: n, vocabulary: map[uint64]int{}}
	for i := range p.feature {
		p.feature[i].Bets = eprocess.NewBets()
	}
	return p
}

func (p *formPath) vary(way string) {
	if !slices.Contains(p.varies, way) {
		p.varies = append(p.varies, way)
	}
}

// recentValues are the hashes of the last values of one side.
type recentValues struct {
	ring  []uint32
	next  int
	times map[uint32]int
	body  []uint64 // those of the body in hand
}

// came reports whether a value was there before, in this body too.
func (m *recentValues) came(h uint64) bool {
	return m.times[uint32(h)] > 0 || slices.Contains(m.body, h)
}

func (m *recentValues) add(h uint32) {
	if m.times == nil {
		m.times = map[uint32]int{}
	}
	if len(m.ring) < remembered {
		m.ring = append(m.ring, h)
	} else {
		old := m.ring[m.next]
		if m.times[old]--; m.times[old] == 0 {
			delete(m.times, old)
		}
		m.ring[m.next] = h
		m.next = (m.next + 1) % remembered
	}
	m.times[h]++
}

// formExchange is one exchange at one place.
type formExchange struct {
	monolith, candidate, repeat []value
	again, timeless             bool
	lists                       *[3][]category // scratch, of each side
	alpha                       float64
	n                           int
	at                          time.Time
	clocks                      [3]sideClock
}

// settle takes an exchange to every feature of the place; it reports whether the
// candidate's form was unusual and the monolith's was not.
func (p *formPath) settle(e *formExchange) (odd bool) {
	if p.rule == formAny || p.rule == formValue {
		return false
	}
	for k := range p.feature {
		if k == featPresence && !slices.Contains(p.varies, jsondiff.WayPresence) || k == featSize && p.numbered() {
			continue
		}
		r := featureRound{alpha: e.alpha, n: e.n}
		for side, values := range [...][]value{e.monolith, e.candidate, e.repeat} {
			if e.lists[side] = e.lists[side][:0]; side != Repeat || e.again {
				e.lists[side] = p.categories(e.lists[side], k, side, values, e)
			}
		}
		r.monolith, r.candidate, r.repeat = e.lists[Monolith], e.lists[Candidate], e.lists[Repeat]
		if len(r.monolith) == 0 || len(r.candidate) == 0 {
			continue
		}
		odd = p.feature[k].settle(&r, p.unusual(k), p.ready(k), p.slack(k)) || odd
	}
	p.remember(e)
	return odd
}

// category is what a feature says of one value.
type category struct {
	code  uint64
	word  string    // what it is called; empty: as form and size of value are
	value *value    // valid during the exchange
	sized bool      // its size, not its form
	class formClass // of the feature form
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
	if k == featPresence {
		if len(values) == 0 {
			return append(list, category{code: 0, word: "absent"})
		}
		return append(list, category{code: 1, word: "there"})
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
		return category{code: v.form.code(), value: v, class: v.form.class}, true
	case featWord:
		return category{code: v.hash, word: "a word"}, v.form.class == classWord || v.form.class == classBool
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
		if p.recent[side%2].came(v.hash) {
			return category{code: 1, word: "an earlier value"}, true
		}
		return category{code: 0, word: "a new value"}, true
	case featFall:
		return p.orderCategory(side, v)
	}
	return category{code: uint64(v.size), value: v, sized: true}, v.size >= 0
}

// timeCategory says whether a time lies where those of the monolith lay.
func (p *formPath) timeCategory(side int, v *value, e *formExchange) (c category, ok bool) {
	if v.at.IsZero() || e.timeless || e.at.IsZero() || len(p.offsets) < formWarm {
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

// How far from the monolith's usual distances a time may be: clocks differ, and the
// candidate is asked later.
const (
	timeSlack = 5_000 // ms
	dateSlack = 36 * 3600 * 1000
)

// window is where times of the monolith lay lately, in ms from the request, and half
// as much again to both sides.
func (p *formPath) window(f form) (low, high int64) {
	low, high = slices.Min(p.offsets), slices.Max(p.offsets)
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
	if len(p.offsets) < formWarm {
		return false
	}
	t := &p.feature[featForm].M
	return t.top().Class == classTime && 10*t.top().Count >= 9*t.N && slices.Max(p.offsets)-slices.Min(p.offsets) <= nowRange
}

// orderCategory says whether a number lies below the middle of the last ones of its
// side.
func (p *formPath) orderCategory(side int, v *value) (c category, ok bool) {
	last := p.orders[side%2]
	if !v.counts || len(last) < ordersKept || p.unordered() {
		return c, false
	}
	if v.number < middle(last) {
		return category{code: 1, word: "below earlier ones"}, true
	}
	return category{code: 0, word: "rising"}, true
}

// rising reports whether the monolith's numbers are those of a counter. Another one
// begins elsewhere, so its numbers have another length.
func (p *formPath) rising() bool { return p.ranked >= 3 && 10*p.rises >= 9*p.ranked }

// numbered reports whether whole numbers are given out, so that none comes twice.
// Another service gives out others, and where many requests are under way at once
// they do not even rise.
func (p *formPath) numbered() bool {
	top, again := p.feature[featForm].M.top().Class, &p.feature[featRepeat].M
	return p.rising() || (top == classInteger || top == classDigits) && float64(again.count(1)) <= 0.05*float64(again.N)
}

// ranksKnown is after how many numbers a place is known to be a counter or none.
const ranksKnown = 16

// counter reports whether the numbers are those of a counter for sure; unordered,
// that they are not, so that their order is no longer looked at.
func (p *formPath) counter() bool   { return p.ranked >= ranksKnown && p.rising() }
func (p *formPath) unordered() bool { return p.ranked >= ranksKnown && !p.rising() }

// unusual says how unusual a category is among the monolith's.
func (p *formPath) unusual(k int) func(*table, category) float64 {
	switch {
	case k == featForm && p.rule != "":
		declared, _ := classNamed(p.rule)
		return func(_ *table, c category) float64 { return eprocess.Indicator(c.class != declared) }
	case k == featSize:
		return p.unusualSize
	case k == featWord:
		return func(_ *table, c category) float64 { return eprocess.Indicator(p.vocabulary[c.code] == 0) }
	}
	return (*table).unusual
}

// decadesApart is by how many powers of ten a number may be smaller or larger than
// all of the monolith's: a candidate that is faster says so in its own figures.
const decadesApart = 2

// unusualSize is unusual of sizes: of numbers, only one that is far from all.
func (p *formPath) unusualSize(t *table, c category) float64 {
	if top := p.feature[featForm].M.top().Class; top != classInteger && top != classDecimal {
		return t.unusual(c)
	}
	for _, r := range t.Rows {
		if d := int(r.Code) - int(c.code); d >= -decadesApart && d <= decadesApart {
			return 0
		}
	}
	return eprocess.Indicator(t.N > 0)
}

// ready reports whether enough of the monolith's values are known for a feature.
func (p *formPath) ready(k int) bool {
	t := &p.feature[k].M
	switch k {
	case featWord:
		return p.worded >= wordsWarm && len(p.vocabulary) <= wordsMost
	case featFall:
		return t.N >= formWarm && p.rising() && float64(t.count(1)) <= 0.05*float64(t.N)
	case featSize:
		return t.N >= 2*formWarm
	}
	return t.N >= formWarm
}

// slack is by how much more often the candidate may be unusual. A cache of its own
// begins cold and expires at other times, so where the monolith repeats values at
// times, the candidate may do so somewhat more often.
func (p *formPath) slack(k int) float64 {
	if k != featRepeat {
		return 0
	}
	t := &p.feature[k].M
	if r := eprocess.Ratio(t.count(1), t.N); r > 0.02 {
		return min(0.3, 2*r)
	}
	return 0
}

// remember takes the values of an exchange into what is known of each side.
func (p *formPath) remember(e *formExchange) {
	for side, values := range [2][]value{e.monolith, e.candidate} {
		for i := range values {
			if h := values[i].hash; h != 0 {
				p.recent[side].add(uint32(h))
			}
		}
		if len(values) == 1 && values[0].counts {
			p.rank(side, values[0].number)
		}
	}
	for i := range e.monolith {
		v := &e.monolith[i]
		if !v.at.IsZero() && !e.at.IsZero() {
			p.offsets = append(p.offsets, v.at.Sub(e.moment(Monolith)).Milliseconds())
			p.offsets = p.offsets[max(0, len(p.offsets)-offsetsKept):]
			p.seeAge(v, e.clocks[Monolith])
		}
		if v.form.class == classWord || v.form.class == classBool {
			p.worded++
			if len(p.vocabulary) <= wordsMost {
				p.vocabulary[v.hash]++
			}
		}
	}
	for i := range e.candidate {
		v := &e.candidate[i]
		if c, ok := p.timeCategory(Candidate, v, e); ok && c.code != 0 {
			p.off = v.at.Sub(e.moment(Candidate)).Milliseconds()
			p.lag, _ = p.isStale(v, e.clocks[Candidate])
		}
	}
}

// rank takes a side's number.
func (p *formPath) rank(side int, number int64) {
	if p.unordered() {
		p.orders = [2][]int64{}
		return
	}
	last := p.orders[side]
	if side == Monolith && len(last) > 0 {
		p.ranked++
		p.rises += int(eprocess.Indicator(number > middle(last)))
		if p.ranked > 64 {
			p.ranked, p.rises = p.ranked/2, p.rises/2
		}
	}
	last = append(last, number)
	p.orders[side] = last[max(0, len(last)-ordersKept):]
}

func middle(list []int64) int64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

package form

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/twosample"
)

// The places that are derived from a value, each of which is one test.
const (
	featForm     = iota // type and format
	featPresence        // whether it is there, where the monolith leaves it out at times
	featWord            // which word, of a few
	featTime            // how far from the time of the request
	featRepeat          // whether it came before
	featSize            // length, number of elements
	features
)

// formWarm values of the monolith's must be known before a derived place is bet on: of
// words, each of which may be new, and of lengths, twice as many. Simulation:
// TestFormsOfEqualServices.
const formWarm = 4 // values

// formPath is one place that is compared by form.
type formPath struct {
	pathState
	rule    string
	own     bool // see Forms.MarkOwn
	feature [features]feature
}

func newFormPath(path string, n int, rule string) *formPath {
	p := &formPath{pathState: pathState{Path: path, Born: n, Alike: &twosample.Test{}}, rule: rule}
	for i := range p.feature {
		p.feature[i].Bets = eprocess.NewBets()
	}
	return p
}

// void takes back what was won of values that each server holds by itself. How far a time is
// from now is no such state, where the monolith's are all as far.
func (p *formPath) void() {
	p.own = true
	for k := range p.feature {
		if k != featTime || !p.ofNow() {
			p.feature[k].Bets.Void()
		}
	}
}

func (p *formPath) varies(way string) bool { return slices.Contains(p.Varies, way) }

func (p *formPath) vary(way string) {
	if !p.varies(way) {
		p.Varies = append(p.Varies, way)
	}
}

// formExchange is one exchange at one place.
type formExchange struct {
	monolith, candidate, repeat []value
	again, timeless, named      bool
	lists                       *[3][]category        // scratch, of each side
	drawn                       *[3][]twosample.Value // scratch, of each side
	alpha                       float64
	n                           int
	at                          time.Time
	clocks                      [3]time.Time // Date of each response; zero: it has none
}

// settle takes an exchange to every derived place; it reports whether the candidate's form was
// unusual and the monolith's was not. What the monolith holds for a while is counted, and not
// bet on: it says no more with every request than at first, on either side.
func (p *formPath) settle(e *formExchange) (odd bool) {
	if p.own && !p.ofNow() || p.rule == formAny || p.rule == formValue {
		return false
	}
	held := p.isHeld()
	if isWhole(e.n) {
		p.hold(e.monolith)
	}
	for k := range p.feature {
		if p.looksAt(k) && p.settleFeature(k, e, !held && p.ready(k)) {
			odd = true
		}
	}
	if !held {
		p.seeAlike(e)
	}
	p.remember(e)
	return odd
}

func (p *formPath) settleFeature(k int, e *formExchange, ready bool) (odd bool) {
	for side, values := range [3][]value{e.monolith, e.candidate, e.repeat} {
		if e.lists[side] = e.lists[side][:0]; side != Repeat || e.again {
			e.lists[side] = p.categories(e.lists[side], k, side, values, e)
		}
	}
	return len(e.lists[Monolith]) > 0 && len(e.lists[Candidate]) > 0 && p.feature[k].settle(e, p.unusual(k), ready, p.slack(k))
}

// settleSame takes what both sides say in an exchange.
func (p *formPath) settleSame(values []value, scratch *[3][]twosample.Value) {
	if p.own || p.rule != "" {
		return
	}
	held := p.isHeld()
	if p.hold(values); !held {
		list := p.drawnValues(&scratch[Monolith], values)
		p.Alike.See(list, list, nil)
	}
}

// looksAt reports whether a derived place is one of the place's.
func (p *formPath) looksAt(k int) bool {
	if p.own {
		return k == featTime
	}
	return k != featPresence || p.varies(jsondiff.WayPresence)
}

// unusual says how unusual a category is among the monolith's.
func (p *formPath) unusual(k int) func(*table, category) float64 {
	switch {
	case k == featForm && p.rule != "":
		return func(_ *table, c category) float64 { return eprocess.Indicator(classNames[c.class] != p.rule) }
	case k == featForm && p.isNumber(), k == featWord:
		return (*table).never
	}
	return (*table).unusual
}

// ready reports whether enough of the monolith's values are known for a derived place. Numbers
// come again by chance, but for those that are given out one after another.
func (p *formPath) ready(k int) bool {
	t := &p.feature[k].M
	switch k {
	case featWord:
		return t.N >= 2*formWarm && t.rest() == 0
	case featSize:
		return t.N >= 2*formWarm
	case featRepeat:
		return t.N >= formWarm && (!p.isNumber() || p.Trend.rises())
	}
	return t.N >= formWarm
}

// A cache of the candidate's own begins cold and expires at other times, so where the monolith
// repeats values, the candidate may do so in cacheSlack of responses more, or in twice as many
// more. Simulation: TestFormsOfEqualServices, cached.
const cacheSlack = 0.3 // share of responses

func (p *formPath) slack(k int) float64 {
	t := &p.feature[k].M
	if k == featRepeat && !t.seldom(1) {
		return min(cacheSlack, 2*eprocess.Ratio(t.count(1), t.N))
	}
	return 0
}

// top is the usual class of the monolith's values.
func (p *formPath) top() formClass { return p.feature[featForm].M.top().Class }

// isNumber reports whether the values are numbers.
func (p *formPath) isNumber() bool {
	top := p.feature[featForm].M.top()
	return top.Count > 0 && (top.Class == classInteger || top.Class == classDecimal)
}

// isRanged reports whether the size of the monolith's numbers is compared: not of those that
// rise or fall, with time or by asking.
func (p *formPath) isRanged() bool { return !p.Trend.rises() && !p.Alike.IsMoved() }

// isAnew reports whether both sides' values are new each time.
func (p *formPath) isAnew() bool {
	t := &p.feature[featRepeat]
	return t.Of >= formEnough && t.M.seldom(1) && t.C.seldom(1)
}

// isSet reports whether ids or texts come out of a set of few.
func (p *formPath) isSet() bool {
	t := &p.feature[featRepeat].M
	return 2*t.count(1) > t.N && p.top().hasMembers()
}

// isMember reports whether they come out of a set that both sides draw from: one in four of the
// candidate's is one of the monolith's, where servers with ids of their own have none in common.
func (p *formPath) isMember() bool { return p.isSet() && p.Said > 0 && 4*p.Shared >= p.Said }

// isCompared reports whether it is compared which member goes with a request: of a cookie, as
// long as both sides have said the same each time.
func (p *formPath) isCompared() bool { return p.Fresh && p.Apart == 0 }

// anewShare is of how many values at most one came before where they are new each time.
const anewShare = 50 // values

// remember takes the values of an exchange into what is known of each side.
func (p *formPath) remember(e *formExchange) {
	for i := range e.candidate {
		if h := e.candidate[i].hash; h != 0 {
			p.Said++
			p.Shared += int(eprocess.Indicator(p.Recent[Monolith].came(h)))
		}
	}
	if !slices.EqualFunc(e.monolith, e.candidate, func(a, b value) bool { return bytes.Equal(a.raw, b.raw) }) {
		p.Apart++
	}
	for side, values := range [2][]value{e.monolith, e.candidate} {
		for i := range values {
			if h := values[i].hash; h != 0 {
				p.Recent[side].add(h)
			}
		}
	}
	if len(e.monolith) > 0 && e.monolith[0].sized {
		p.Trend.see(e.monolith[0].amount)
	}
	at := e.moment(Monolith)
	for i := range e.monolith {
		v := &e.monolith[i]
		p.Padded = p.Padded || v.padded
		if !v.at.IsZero() && !e.at.IsZero() {
			p.Offsets = append(p.Offsets, v.at.Sub(at).Milliseconds())
			p.Offsets = p.Offsets[max(0, len(p.Offsets)-offsetsKept):]
		}
	}
	at = e.moment(Candidate)
	for i := range e.candidate {
		v := &e.candidate[i]
		if c, ok := p.timeCategory(Candidate, v, e); ok && c.code != 0 {
			p.Off = v.at.Sub(at).Milliseconds()
		}
	}
}

// remembered is how many values of each side are remembered, as hashes.
const remembered = 128

// recentValues are the hashes of the last values of one side, in 4 bytes each.
type recentValues struct {
	Ring []byte   `json:"r,omitempty"`
	Next int      `json:"n,omitempty"`
	body []uint64 // those of the body in hand
}

// came reports whether a value was there before, in this body too.
func (m *recentValues) came(h uint64) bool {
	for i := 0; i+4 <= len(m.Ring); i += 4 {
		if binary.LittleEndian.Uint32(m.Ring[i:]) == uint32(h) {
			return true
		}
	}
	return slices.Contains(m.body, h)
}

func (m *recentValues) add(h uint64) {
	if len(m.Ring) < 4*remembered {
		m.Ring = binary.LittleEndian.AppendUint32(m.Ring, uint32(h))
		return
	}
	binary.LittleEndian.PutUint32(m.Ring[4*m.Next:], uint32(h))
	m.Next = (m.Next + 1) % remembered
}

package form

import (
	"bytes"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/own"
	"whittle/carve/compare/twosample"
)

// formPath is one place compared by form, as it is kept: hashes of values, and the last numbers.
type formPath struct {
	Path string `json:"p"`
	Born int    `json:"born"`
	// Cookie says that it is a cookie's. The monolith was not seen to vary there, so a value that it
	// repeats is not one that it holds.
	Cookie bool `json:"cookie,omitempty"`
	// Varies are the ways in which the monolith varies there.
	Varies []string `json:"v"`
	// Offsets are the distances of the monolith's last times from now, in ms.
	Offsets []int64 `json:"o,omitempty"`
	// Padded says that the monolith's digits began with zeros.
	Padded bool `json:"z,omitempty"`
	// Said counts the candidate's values; Shared of them were among the monolith's last ones.
	Said   int `json:"said,omitempty"`
	Shared int `json:"shared,omitempty"`
	// Apart counts the exchanges in which the two sides' values differed.
	Apart int `json:"apart,omitempty"`
	// Fixed counts how often the monolith, asked twice, and the candidate gave a cookie one value; -1:
	// the monolith once gave two.
	Fixed int `json:"fixed,omitempty"`
	// Last is the monolith's last number. Ups and Down count its steps up and down.
	Last float64     `json:"l,omitempty"`
	Ups  int         `json:"up,omitempty"`
	Down int         `json:"down,omitempty"`
	Held own.Holding `json:"held"`
	// Samples are exchanges in which the candidate's form was unusual.
	Samples []whittle.Sample `json:"s,omitempty"`
	// Recent are hashes of each side's last values, Ends of the last third of an id in most exchanges.
	Recent  [2][]uint32       `json:"recent"`
	Ends    [2][]uint32       `json:"ends"`
	Feature [features]feature `json:"f"`
	Alike   twosample.Test    `json:"alike"`

	name string // what it is called
	rule string
	own  bool       // see Forms.Learn
	now  [3][]value // of each response of the present exchange
}

func newFormPath(path string, n int) *formPath {
	p := &formPath{Path: path, Born: n}
	for i := range p.Feature {
		p.Feature[i].Bets = eprocess.NewBets()
	}
	return p
}

func (p *formPath) varies(way string) bool { return slices.Contains(p.Varies, way) }

func (p *formPath) vary(way string) {
	if !p.varies(way) {
		p.Varies = append(p.Varies, way)
	}
}

type formExchange struct {
	same, again, timeless bool
	drawn                 *[3][]twosample.Value // scratch, of each response
	alpha                 float64
	n                     int
	at                    time.Time
	clocks                [3]time.Time // the Date of each response; zero: it has none
	took                  [3]time.Duration
}

// settle takes an exchange to every derived place. It reports whether the candidate's form was unusual and
// the monolith's was not. Values that the monolith holds for a while are counted and not bet on: further
// requests say no more than the first, on either side. The same goes for a state of each server's own.
func (p *formPath) settle(e *formExchange) (odd bool) {
	if p.rule == formAny || p.rule == formValue {
		return false
	}
	held, isOwn := p.isHeld(), p.isOwn()
	if isWhole(e.n) {
		p.Held.See(heldHash(p.now[Monolith]))
	}
	if !e.same {
		for k := range p.Feature {
			odd = p.settleFeature(k, e, !held && !isOwn && p.ready(k)) || odd
		}
	}
	if !held && p.rule == "" {
		p.seeAlike(e)
	}
	if !e.same {
		p.remember(e)
	}
	return odd
}

// isOwn reports whether each server holds a state of its own there. How far a time is from now is no
// such state where all of the monolith's are equally far.
func (p *formPath) isOwn() bool { return p.own && !p.ofNow() }

// top is the usual class of the monolith's values.
func (p *formPath) top() formClass { return p.Feature[featForm].top().Class }

func (p *formPath) isNumber() bool { return p.top() == classInteger || p.top() == classDecimal }

// isMeasured reports whether the values are sizes: numbers, in texts too, and durations.
func (p *formPath) isMeasured() bool { return p.isNumber() || p.Ups+p.Down > 0 && p.top() != classTime }

// isRanged reports whether the size of the monolith's numbers is compared: not where they rise or fall,
// with time or by asking.
func (p *formPath) isRanged() bool { return !p.rises() && !p.Alike.IsMoved() }

// rises reports whether numbers are given out one after another, or rise or fall with time: nine in ten
// steps go one way. Simulation: TestEqualDrawsAreFoundSo.
func (p *formPath) rises() bool {
	n := p.Ups + p.Down
	return n >= 2*warm && 10*max(p.Ups, p.Down) >= 9*n
}

// isNew reports whether the values are new each time.
func (p *formPath) isNew() bool { return p.Feature[featRepeat].isNew() }

// isNew reports whether all but one in 50 of the monolith's values, or of their ends, are new.
func (f *feature) isNew() bool { return f.N > 0 && 50*f.count(again) <= f.N }

// isSet reports whether ids or texts come from a small set.
func (p *formPath) isSet() bool {
	f := &p.Feature[featRepeat]
	return 2*f.count(again) > f.N && p.top().hasMembers()
}

// isMember reports whether both sides draw from one set: at least one in four of the candidate's values
// is one of the monolith's, where servers with ids of their own share none.
func (p *formPath) isMember() bool { return p.isSet() && p.Said > 0 && 4*p.Shared >= p.Said }

// isAnothers reports whether the two sides' cookies differ, though the request says which it is. One
// difference may be a change between two calls.
func (p *formPath) isAnothers() bool {
	return p.Fixed >= warm && p.Apart > 1 && !p.ofNow() && !p.isHeld()
}

// isCompared reports whether it is compared which member goes with a request: for a cookie, as long as
// both sides said the same each time.
func (p *formPath) isCompared() bool { return p.Cookie && p.Apart == 0 }

// heldHash is that of a response's first value.
func heldHash(values []value) uint32 {
	if len(values) == 0 {
		return 0
	}
	return uint32(digest.FNV(values[0].raw))
}

// isHeld reports whether the monolith holds its values for a while, so that what both sides say is not
// bet on. It is false for times in seconds, and where nothing is known to vary. It follows from earlier
// exchanges alone, so that the present one does not choose whether it is bet on.
func (p *formPath) isHeld() bool {
	return p.Held.Holds() && !p.ofNow() && (!p.Cookie || p.Held.Newer > 0)
}

// remember adds the values of an exchange to what is known of each side.
func (p *formPath) remember(e *formExchange) {
	monolith, candidate := p.now[Monolith], p.now[Candidate]
	for i := range candidate {
		if h := candidate[i].hash; h != 0 {
			p.Said++
			p.Shared += int(eprocess.Indicator(p.came(Monolith, h)))
		}
	}
	isSame := func(a, b value) bool { return bytes.Equal(a.raw, b.raw) }
	apart := !slices.EqualFunc(monolith, candidate, isSame)
	p.Apart += int(eprocess.Indicator(apart))
	switch {
	case !p.Cookie || !e.again || p.Fixed < 0 || len(monolith) == 0:
	case !slices.EqualFunc(monolith, p.now[Repeat], isSame):
		p.Fixed = -1
	case !apart:
		p.Fixed++
	}
	for side := range p.Recent {
		for i := range p.now[side] {
			if h := p.now[side][i].hash; h != 0 {
				p.Recent[side] = pushed(p.Recent[side], uint32(h), most)
			}
		}
		if now := p.now[side]; e.n%most == 0 && len(now) > 0 && now[0].end != 0 {
			p.Ends[side] = pushed(p.Ends[side], now[0].end, few)
		}
	}
	if len(monolith) > 0 && monolith[0].sized {
		p.step(monolith[0].amount)
	}
	for i := range monolith {
		v := &monolith[i]
		p.Padded = p.Padded || v.padded
		if !v.at.IsZero() && !e.at.IsZero() {
			p.Offsets = pushed(p.Offsets, v.at.Sub(e.moment(Monolith)).Milliseconds(), few)
		}
	}
}

// pushed appends to a list and keeps its last values.
func pushed[T any](list []T, x T, most int) []T {
	list = append(list, x)
	return list[max(0, len(list)-most):]
}

// came reports whether a value is one of a side's last ones.
func (p *formPath) came(side int, h uint64) bool { return slices.Contains(p.Recent[side], uint32(h)) }

// step counts which way the monolith's numbers go.
func (p *formPath) step(x float64) {
	p.Ups += int(eprocess.Indicator(x > p.Last))
	p.Down += int(eprocess.Indicator(x < p.Last))
	if p.Last = x; p.Ups+p.Down > own.Fades {
		p.Ups, p.Down = p.Ups/2, p.Down/2
	}
}

// nowRange is how far from now fresh times lie. Without a Date, half of it is no difference, since
// clocks differ and the candidate is asked later. Simulation: TestFreshTimesAreAsFar.
const nowRange = 10_000 // ms

// ofNow reports whether the monolith's times are all about as far from the request.
func (p *formPath) ofNow() bool {
	if len(p.Offsets) < warm {
		return false
	}
	f := &p.Feature[featForm]
	top := f.top()
	return top.Class == classTime && 10*top.Count >= 9*f.N && slices.Max(p.Offsets)-slices.Min(p.Offsets) <= nowRange
}

// moment is when a side was asked, by its own clock if its response has a Date, so that a queue or a
// wrong clock does not touch the times it writes. A Date over a minute after the request comes from a
// wrong clock, and one more than nowRange before it may come from a cache; both are ignored.
func (e *formExchange) moment(side int) time.Time {
	date := e.clocks[side]
	if d := date.Sub(e.at); e.at.IsZero() || d > time.Minute || d < -nowRange*time.Millisecond {
		return e.at
	}
	return date
}

// isDated reports whether a side's times are compared with its own clock.
func (e *formExchange) isDated(side int) bool { return e.moment(side).Equal(e.clocks[side]) }

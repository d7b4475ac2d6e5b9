package form

import (
	"slices"
	"strings"
	"time"

	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/twosample"
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
	featTwice           // whether an element of a list comes twice
	featSorted          // whether a list is in order
	featStill           // whether a number stands still
	featMember          // whether an id is one of the set that the monolith draws from
	featPair            // whether it goes with the value that it follows from
	featRange           // whether a number lies beyond all of the monolith's
	featChars           // which characters an id is made of
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
	wordsOwn    = 20 // exchanges without any word of the monolith's
)

// formPath is one place that is compared by form.
type formPath struct {
	pathState
	rule    string
	own     bool // see Forms.Own
	feature [features]feature

	recent [2]recentValues
	orders [2][]int64
	draws  draws
	// holds says that the monolith was seen to vary here, so that what it keeps saying is
	// what it holds.
	holds   bool
	padded  bool // digits of the monolith began with zeros
	slow    slowRise
	wanders wandering

	inList, measured bool // by its path
	// amount, small and ranged say of the present exchange that the values are numbers, that
	// they come again, and that their size is compared.
	amount, small, ranged bool

	watched  [features]watch
	still    still
	members  members
	partners []*partner
	ends     ends
	alike    *twosample.Test
	// paired is how many exchanges there had been when alike began.
	paired int
	chars  *charsMix // nil: none of the values seen so far have any that are compared
}

func newFormPath(path string, n int, rule string) *formPath {
	p := &formPath{
		pathState: pathState{Path: path, Born: n, Words: map[uint64]int{}}, rule: rule, paired: n,
		inList: strings.ContainsAny(path, "*"), measured: isMeasured(path), alike: &twosample.Test{},
	}
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

// takeBack makes a feature void whose values turn out to move, and be watched anew.
func (p *formPath) takeBack(k int) {
	p.feature[k].Bets.Void()
	p.watched[k] = watch{}
}

func (p *formPath) vary(way string) {
	if !slices.Contains(p.Varies, way) {
		p.Varies = append(p.Varies, way)
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
	again, timeless, named      bool
	lists                       *[3][]category        // scratch, of each side
	drawn                       *[3][]twosample.Value // scratch, of each side
	alpha                       float64
	n                           int
	at                          time.Time
	clocks                      [3]sideClock
	sides                       *[3]formSide
	request                     [keysOfRequest]uint64
	keys                        []uint64 // scratch
	wrong                       []uint64 // pairs
}

// settle takes an exchange to every feature of the place; it reports whether the
// candidate's form was unusual and the monolith's was not.
func (p *formPath) settle(e *formExchange) (odd bool) {
	if p.own && !p.ofNow() || p.rule == formAny || p.rule == formValue {
		return false
	}
	p.knowNumbers()
	pair, held, ready := p.draws.take(e, p.mayHold(), p.drawn)
	for k := range p.feature {
		if !p.looksAt(k, held) {
			continue
		}
		switch {
		case k == featRepeat && p.small:
			p.feature[k].Bets.Void()
		case k == featSize && p.numbered(), k == featRange && !p.ranged:
			p.feature[k].Bets.Void() // of before it was known
			continue
		}
		if !ready {
			continue
		}
		for side, values := range [3][]value{e.monolith, e.candidate, e.repeat} {
			if e.lists[side] = e.lists[side][:0]; side == Repeat && e.again || side != Repeat && !held {
				e.lists[side] = p.categories(e.lists[side], k, side, values, e)
			}
		}
		r := featureRound{alpha: e.alpha, n: e.n, monolith: e.lists[Monolith], candidate: e.lists[Candidate], repeat: e.lists[Repeat]}
		if held {
			r.monolith, r.candidate = pair[Monolith][k], pair[Candidate][k]
		}
		if len(r.monolith) > 0 && len(r.candidate) > 0 {
			one := p.feature[k].settle(&r, p.unusual(k), p.ready(k), p.slack(k))
			if odd = odd || one; one {
				p.watched[k].see(e.at)
			}
		}
	}
	switch {
	case !held:
		p.seeAlike(e)
		p.spoke(e.monolith)
	case ready:
		p.drew(pair[Monolith][featWord])
	}
	p.remember(e)
	return odd
}

// settleSame takes what both sides say in an exchange.
func (p *formPath) settleSame(values []value, scratch *[3][]twosample.Value) {
	if p.own || p.rule != "" {
		return
	}
	held := p.draws.holds() && p.mayHold()
	if p.draws.same(values); !held {
		list := p.drawnValues(&scratch[Monolith], values)
		p.alike.See(list, list, nil)
	}
}

// looksAt reports whether a feature is one of the place's. Where the monolith holds what it
// says, only what follows from the present values is.
func (p *formPath) looksAt(k int, held bool) bool {
	if p.own {
		return k == featTime
	}
	switch k {
	case featPresence:
		return slices.Contains(p.Varies, jsondiff.WayPresence)
	case featTwice, featSorted: // numbers that wander keep their order, and are alike, for a while
		return p.inList && !p.wanders.known
	case featStill:
		return !held && !p.inList && p.amount
	case featRange:
		return !held && p.ends.N > 0
	case featChars:
		return p.chars != nil && p.madeAnew() && !p.numbered()
	case featMember:
		return !held && !p.members.more
	case featPair:
		return !held
	}
	return true
}

// spoke takes the words of the monolith's values, and drew those of what it has drawn, once
// that was held against the candidate's: a word that waits is no known one yet.
func (p *formPath) spoke(values []value) {
	for i := range values {
		p.word(values[i].words())
	}
}

func (p *formPath) drew(list []category) {
	for i := range list {
		p.word(list[i].code)
	}
}

func (p *formPath) word(w uint64) {
	if w == 0 {
		return
	}
	p.Worded++
	if len(p.Words) <= wordsMost {
		p.Words[w]++
	}
}

// mayHold reports whether what a side says again and again may be what it holds: not if it
// is the time, in seconds, nor where nothing is known to vary.
func (p *formPath) mayHold() bool { return !p.ofNow() && (p.holds || p.draws.newer > 0) }

// drawn are values of a side as they are kept until the other side has drawn.
func (p *formPath) drawn(side int, values []value, e *formExchange) (d drawn) {
	for k := range p.feature {
		d[k] = p.categories(nil, k, side, values, e)
		for i := range d[k] {
			c := &d[k][i]
			c.word, c.value = c.words(), nil
		}
	}
	return d
}

// unusual says how unusual a category is among the monolith's.
func (p *formPath) unusual(k int) func(*table, category) float64 {
	switch {
	case k == featForm && p.rule != "":
		declared, _ := classNamed(p.rule)
		return func(_ *table, c category) float64 { return eprocess.Indicator(c.class != declared) }
	case k == featForm && p.isGauge():
		return p.unusualNumber
	case k == featSize:
		return p.unusualSize
	case k == featWord:
		return p.unusualWord
	case k == featRange, k == featChars:
		return func(_ *table, c category) float64 { return float64(c.code) }
	}
	return (*table).unusual
}

// wordsSeldom is how many times as often as a word another one must have come for it to be
// said seldom.
const wordsSeldom = 20

// unusualNumber is unusual of the forms of numbers that wander: those near to each other have
// the same decimals more often than others, on either side for as long as it stays there, so
// that of numbers only a form that the monolith never has is unusual.
func (p *formPath) unusualNumber(t *table, c category) float64 {
	if t.count(c.code) > 0 && (c.class == classInteger || c.class == classDecimal) {
		return 0
	}
	return t.unusual(c)
}

// unusualWord is 1 for a word that the monolith has never said, and for words around what
// varies that it has said seldom. How often a word comes by itself is compared by value.
func (p *formPath) unusualWord(_ *table, c category) float64 {
	said := p.Words[c.code]
	if said == 0 || p.isWord() {
		return eprocess.Indicator(said == 0)
	}
	most := 0
	for _, n := range p.Words {
		most = max(most, n)
	}
	return eprocess.Indicator(said*wordsSeldom <= most)
}

// isGauge reports whether the values are numbers that wander up and down.
func (p *formPath) isGauge() bool { return p.wanders.seen() && !p.rising() && !p.slow.rising() }

// knowNumbers says by the values of the past what is looked at of those of the present
// exchange, where they are numbers. Of small ones that are not given out, each once, a
// faster candidate's come again: 2 ms, where the monolith takes 30 to 90.
func (p *formPath) knowNumbers() {
	p.amount = p.isAmount()
	p.small = p.amount && (p.measured || !p.numbered())
	p.ranged = p.isRanged()
}

// isAmount reports whether the values are numbers.
func (p *formPath) isAmount() bool {
	top := p.feature[featForm].M.top()
	return top.Count > 0 && (top.Class == classInteger || top.Class == classDecimal)
}

// isNumber reports whether the values are numbers with decimals.
func (p *formPath) isNumber() bool { return p.feature[featForm].M.top().Class == classDecimal }

// isWord reports whether the values are words or flags, and no texts around what varies.
func (p *formPath) isWord() bool {
	top := p.feature[featForm].M.top().Class
	return top == classWord || top == classBool
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
		return p.Worded >= wordsWarm && len(p.Words) <= wordsMost
	case featFall:
		return t.N >= formWarm && p.rising() && float64(t.count(1)) <= 0.05*float64(t.N)
	case featSize:
		return t.N >= 2*formWarm && !p.mayRise()
	case featStill:
		return t.N >= 2*formWarm && !p.rising() && !p.slow.rising() && !p.mayRise()
	case featRepeat:
		return t.N >= formWarm && !p.small
	}
	return t.N >= formWarm
}

// slack is by how much more often the candidate may be unusual. A cache of its own
// begins cold and expires at other times, so where the monolith repeats values at
// times, the candidate may do so somewhat more often.
func (p *formPath) slack(k int) float64 {
	switch k {
	case featStill:
		return stillSlack
	case featRange:
		return endsSlack
	case featRepeat:
	default:
		return 0
	}
	if p.isGauge() {
		return wanderSlack
	}
	t := &p.feature[k].M
	if r := eprocess.Ratio(t.count(1), t.N); r > 0.02 {
		return min(0.3, 2*r)
	}
	return 0
}

// remember takes the values of an exchange into what is known of each side.
func (p *formPath) remember(e *formExchange) {
	if p.members.see(e.monolith) {
		p.takeBack(featMember)
	}
	p.pairUp(e)
	if p.chars == nil && charsOfValue(e.monolith) != nil {
		p.chars = &charsMix{}
	}
	if p.chars != nil {
		p.chars.see(e)
	}
	if p.amount {
		p.still.see(e)
	}
	times := p.areTimes()
	for side, values := range [2][]value{e.monolith, e.candidate} {
		for i := range values {
			if h := values[i].hash; h != 0 {
				p.recent[side].add(uint32(h))
			}
			p.measured = p.measured || values[i].duration
			if side == Monolith && values[i].hasSize(times) {
				p.ends.see(values[i].amount)
			}
		}
		if now := amountsOf(values); side == Monolith && now.n > 0 && p.wanders.see(now, p.rising()) {
			for _, k := range []int{featForm, featRepeat, featTwice, featSorted} {
				p.feature[k].Bets.Void() // of before it was known
			}
		}
		if len(values) == 1 && values[0].counts {
			p.rank(side, values[0].number)
			if side == Monolith {
				p.slow.see(values[0].number, e.at)
			}
		}
	}
	for i := range e.monolith {
		v := &e.monolith[i]
		p.padded = p.padded || v.padded
		if !v.at.IsZero() && !e.at.IsZero() {
			p.Offsets = append(p.Offsets, v.at.Sub(e.moment(Monolith)).Milliseconds())
			p.Offsets = p.Offsets[max(0, len(p.Offsets)-offsetsKept):]
			p.seeAge(v, e.clocks[Monolith])
		}
	}
	for i := range e.candidate {
		v := &e.candidate[i]
		if c, ok := p.timeCategory(Candidate, v, e); ok && c.code != 0 {
			p.Off = v.at.Sub(e.moment(Candidate)).Milliseconds()
			p.Lag, _ = p.isStale(v, e.clocks[Candidate])
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
		p.Ranked++
		p.Rises += int(eprocess.Indicator(number > middle(last)))
		p.Sinks += int(eprocess.Indicator(number < middle(last)))
		if p.Ranked > 64 {
			p.Ranked, p.Rises, p.Sinks = p.Ranked/2, p.Rises/2, p.Sinks/2
		}
	}
	last = append(last, number)
	p.orders[side] = last[max(0, len(last)-ordersKept):]
}

// slowRise tells numbers that rise or fall with time, as an uptime does, where responses of
// many requests come out of order: by those of the monolith that lie slowEvery apart.
type slowRise struct {
	At     moment `json:"t"`
	Last   int64  `json:"l"`
	Rises  int    `json:"r"`
	Sinks  int    `json:"s"`
	Ranked int    `json:"n"`
}

const (
	slowEvery  = 2 * time.Second
	slowBack   = time.Minute // what comes later by less than this was under way for longer
	slowEnough = 5
)

func (s *slowRise) see(number int64, at time.Time) {
	now := momentOf(at)
	if gap := time.Duration(now - s.At); s.At != 0 && now != 0 && gap < slowEvery && gap > -slowBack {
		return
	}
	if s.At != 0 {
		s.Ranked++
		s.Rises += int(eprocess.Indicator(number > s.Last))
		s.Sinks += int(eprocess.Indicator(number < s.Last))
		if s.Ranked > 64 {
			s.Ranked, s.Rises, s.Sinks = s.Ranked/2, s.Rises/2, s.Sinks/2
		}
	}
	s.At, s.Last = now, number
}

// rising reports whether four in five rose: a server that is overloaded keeps some
// requests for longer than slowEvery.
func (s *slowRise) rising() bool { return s.Ranked >= slowEnough && 5*s.Rises >= 4*s.Ranked }

// falling is rising downwards.
func (s *slowRise) falling() bool { return s.Ranked >= slowEnough && 5*s.Sinks >= 4*s.Ranked }

// mayRise reports whether it is open whether the monolith's numbers rise with time, or fall:
// two in three lie above those just before, and too little time has passed.
func (p *formPath) mayRise() bool {
	return p.Ranked > 0 && 3*max(p.Rises, p.Sinks) >= 2*p.Ranked && p.slow.Ranked < slowEnough && p.slow.At != 0
}

func middle(list []int64) int64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

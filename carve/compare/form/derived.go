package form

import (
	"slices"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// The places that are derived from a value, each of which is one test.
const (
	featForm   = iota // type and format
	featWord          // which word, of a few
	featTime          // how far from the time of the request
	featRepeat        // whether it came before
	featSize          // length, number of elements
	features
)

// warm values of the monolith's must be known before a derived place is bet on: of
// words, each of which may be new, and of lengths, twice as many. Simulation:
// TestFormsOfEqualServices.
const warm = 4 // values

// category is what is derived from a value: two are the same if their codes are.
type category struct {
	code  uint64
	value *value // valid during the exchange
}

// words name a category of a derived place, if they are shown.
func (c *category) words(k int) string {
	switch k {
	case featForm:
		return c.value.form.String()
	case featSize:
		return sizeWords(c.value.form, c.value.size)
	case featTime:
		return [...]string{"as usual", "earlier", "later"}[c.code]
	case featRepeat:
		return [...]string{"a new value", "an earlier value"}[c.code]
	}
	return ""
}

// The codes of times.
const (
	asUsual uint64 = iota
	earlier
	later
)

// categories are those of a response's values at one derived place, in the memory of list.
func (p *formPath) categories(list []category, k, side int, e *formExchange) []category {
	m := &p.Recent[side%2]
	for i := range e.values[side] {
		v := &e.values[side][i]
		if code, ok := p.code(k, side, v, e); ok && !slices.ContainsFunc(list, func(o category) bool { return o.code == code }) {
			list = append(list, category{code, v})
		}
		if k == featRepeat {
			m.body = append(m.body, v.hash)
		}
	}
	m.body = m.body[:0]
	return list
}

// code is what is derived from a value; ok is false where it is nothing.
func (p *formPath) code(k, side int, v *value, e *formExchange) (code uint64, ok bool) {
	switch k {
	case featForm:
		return v.form.code(), !v.isZero() || p.top() != classDecimal // 0 is written alike whatever the decimals of others
	case featWord:
		return v.hash, v.form.class == classWord || v.form.class == classBool
	case featTime:
		return p.timeCode(side, v, e)
	case featRepeat:
		// Requests that waited in the mirror's queue come in one moment; featTime finds a clock that stands still.
		came := p.Recent[side%2].came(v.hash) && (v.at.IsZero() || !p.ofNow())
		return uint64(eprocess.Indicator(came)), v.hash != 0 && v.form.class != classBool && v.form.class != classEmpty
	}
	return uint64(v.size), v.size >= 0 && (v.form.class != classDigits || p.Padded)
}

// timeCode says whether a time lies where those of the monolith lay lately, and half as
// much again to both sides, from the moment at which the side was asked.
func (p *formPath) timeCode(side int, v *value, e *formExchange) (code uint64, ok bool) {
	if v.at.IsZero() || e.timeless || e.at.IsZero() || len(p.Offsets) < warm {
		return 0, false
	}
	low, high := slices.Min(p.Offsets), slices.Max(p.Offsets)
	pad := max(nowRange, high-low) / 2
	switch off := v.at.Sub(e.moment(side)).Milliseconds(); {
	case off < low-pad:
		return earlier, true
	case off > high+pad:
		return later, true
	}
	return asUsual, true
}

// feature is the evidence of one derived place.
type feature struct {
	Bets eprocess.Bets `json:"b"`
	// Rows are categories of the monolith's values, a few of all N.
	Rows []row `json:"rows,omitempty"`
	N    int   `json:"n,omitempty"`
	// Of exchanges that were bet on, the candidate alone was unusual in Odd. Dev sums how unusual
	// each response was; Again is how many second responses there were.
	Of    int        `json:"of,omitempty"`
	Odd   int        `json:"odd,omitempty"`
	Dev   [3]float64 `json:"dev"`
	Again int        `json:"again,omitempty"`
	// Odds are the categories of these, a few.
	Odds []row `json:"odds,omitempty"`
}

type row struct {
	Code  uint64 `json:"k"`
	Words string `json:"w,omitempty"`
	Count int    `json:"n"`
	// Class is that of the feature form.
	Class formClass `json:"c,omitempty"`
}

func (f *feature) count(code uint64) int {
	for i := range f.Rows {
		if f.Rows[i].Code == code {
			return f.Rows[i].Count
		}
	}
	return 0
}

func (f *feature) top() row { return topOf(f.Rows) }

// topOf is the most frequent category; the zero row where there is none.
func topOf(rows []row) row {
	var best row
	for _, r := range rows {
		if r.Count > best.Count {
			best = r
		}
	}
	return best
}

// rest is how many had no row.
func (f *feature) rest() int {
	n := f.N
	for _, r := range f.Rows {
		n -= r.Count
	}
	return n
}

// unusual is 0 for the monolith's most frequent category, 1 for one that was never seen. Where
// there are more categories than rows, one without a row may have been seen. Of what is declared
// another class is unusual. Of words and of the forms of numbers only what was never seen is: how
// often a word comes is compared as a draw, and of numbers that move those near to each other have
// the same decimals for a while.
func (p *formPath) unusual(k int, code uint64, class formClass) float64 {
	f := &p.Feature[k]
	n, most := f.count(code), f.top().Count
	switch {
	case k == featForm && p.rule != "":
		return eprocess.Indicator(classNames[class] != p.rule)
	case k == featWord, k == featForm && p.isNumber():
		return eprocess.Indicator(f.N > 0 && n == 0)
	case n == 0:
		n = f.rest() / few
	}
	return 1 - min(1, float64(n)/float64(max(1, most)))
}

// cacheSlack is in how many responses more the candidate may repeat a value where the monolith
// does: a cache of the candidate's own begins cold and expires at other times. Simulation:
// TestFormsOfEqualServices, cached.
const cacheSlack = 0.3 // share of responses

// settleFeature bets on the categories of one exchange, if enough is known, and then counts them.
// It reports whether the candidate alone was unusual.
func (p *formPath) settleFeature(k int, e *formExchange, ready bool) (odd bool) {
	f := &p.Feature[k]
	if ready {
		var high [3]float64
		var last *category
		for side, list := range e.lists {
			for i := range list {
				h := p.unusual(k, list[i].code, list[i].value.form.class)
				if side == Candidate && h > max(0.5, high[side]) {
					last = &list[i]
				}
				high[side] = max(high[side], h)
			}
			f.Dev[side] += high[side]
		}
		slack := 0.0
		if k == featRepeat && !p.isNew() {
			slack = min(cacheSlack, 2*eprocess.Ratio(f.count(1), f.N))
		}
		f.Bets.Bet((high[Candidate]-high[Monolith]-slack)/(1+slack), e.alpha, e.n)
		f.Of++
		f.Again += int(eprocess.Indicator(len(e.lists[Repeat]) > 0))
		if odd = last != nil && high[Monolith] <= 0.5; odd {
			f.Odd++
			f.Odds = counted(f.Odds, k, last)
		}
	}
	for i := range e.lists[Monolith] {
		f.N++
		f.Rows = counted(f.Rows, k, &e.lists[Monolith][i])
	}
	return odd
}

// counted counts a category, if there is room for it.
func counted(rows []row, k int, c *category) []row {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.Code == c.code }); i >= 0 {
		rows[i].Count++
	} else if len(rows) < few {
		rows = append(rows, row{c.code, display.Snippet([]byte(c.words(k)), display.ValueShown), 1, c.value.form.class})
	}
	return rows
}

// isExcused reports whether half of what was unusual of the candidate is usual by what is known
// now, or the monolith's own second responses deviate from its first ones by half as much as the
// candidate's do, so that it is the order of asking that makes the difference.
func (p *formPath) isExcused(k int) bool {
	f := &p.Feature[k]
	all, still := 0, 0
	for _, r := range f.Odds {
		all += r.Count
		still += r.Count * int(eprocess.Indicator(p.unusual(k, r.Code, r.Class) > 0.5))
	}
	if 2*still <= all {
		return true
	}
	of := func(side, n int) float64 { return f.Dev[side] / float64(max(1, n)) }
	first := of(Monolith, f.Of)
	return f.Again > 0 && of(Repeat, f.Again)-first >= (of(Candidate, f.Of)-first)/2
}

// decidedAt is the exchange at which a derived place was shown to differ; 0: it is not.
func (p *formPath) decidedAt(k int) int {
	if p.isExcused(k) {
		return 0
	}
	return p.Feature[k].Bets.At
}

// isSuspected reports whether a derived place is suspected to differ, and not shown.
func (p *formPath) isSuspected(k int) bool {
	return p.Feature[k].Bets.Now >= eprocess.Suspected && p.Feature[k].Bets.At == 0 && !p.isExcused(k)
}

package form

import (
	"bytes"
	"iter"
	"slices"
	"time"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/own"
)

// The places derived from a value. Each is one test.
const (
	featForm   = iota // type and format
	featWord          // which word, of a few
	featTime          // how far from the time of the request
	featRepeat        // whether it came before
	featEnd           // whether the last third of an id came before
	featSize          // length, number of elements
	features
)

// A derived place is bet on once warm of the monolith's values are known. Words, each of which may be
// new, and lengths take twice as many. Simulation: TestFormsOfEqualServices.
const warm = own.Warm

// category is what is derived from a value. Two are the same if their codes are.
type category struct {
	code  uint64
	value *value // valid during the exchange
}

// words name a category of a derived place, if it is shown.
func (c *category) words(k int) string {
	switch k {
	case featForm:
		return c.value.form.String()
	case featSize:
		return sizeWords(c.value.form.class, c.value.size)
	case featTime:
		return [...]string{"as usual", "earlier", "later", "older than its response's Date allows"}[c.code]
	case featRepeat:
		return [...]string{"a new value", "an earlier value"}[c.code]
	case featEnd:
		return [...]string{"a new end", "an earlier end"}[c.code]
	}
	return ""
}

// The codes of times and of repetition.
const (
	asUsual uint64 = iota
	earlier
	later
	stale

	anew  uint64 = 0
	again uint64 = 1
)

// categories are those of a response's values at one derived place.
func (p *formPath) categories(k, side int, e *formExchange) iter.Seq[category] {
	return func(yield func(category) bool) {
		for i := range p.now[side] {
			v := &p.now[side][i]
			if code, ok := p.code(k, side, v, e); ok && !yield(category{code, v}) {
				return
			}
		}
	}
}

// code is what is derived from a value; ok is false where nothing is.
func (p *formPath) code(k, side int, v *value, e *formExchange) (code uint64, ok bool) {
	switch k {
	case featForm:
		return v.form.code(), !v.isZero() || p.top() != classDecimal // 0 is written alike whatever the decimals of others
	case featWord:
		return v.hash, v.form.class == classWord || v.form.class == classBool
	case featTime:
		return p.timeCode(side, v, e)
	case featRepeat:
		// Requests from the mirror's queue come at one moment. featTime finds a clock that stands still.
		if code = anew; p.came(side%2, v.hash) && (v.at.IsZero() || !p.ofNow()) {
			code = again
		}
		return code, v.hash != 0 && v.form.class != classBool && v.form.class != classEmpty
	case featEnd:
		// The newest does not count: those of requests that come at one moment may end in the time.
		ends := p.Ends[side%2]
		return uint64(eprocess.Indicator(slices.Contains(ends[:max(0, len(ends)-1)], v.end))), v.end != 0 && p.rule == ""
	}
	return uint64(v.size), v.size >= 0 && (v.form.class != classDigits || p.Padded)
}

// timeCode says whether a time lies as far from the moment its side was asked as the monolith's recent
// times, with half their range, or of nowRange, to either side. What both sides say is as usual. A time
// read while the request is served is no older than its response's Date less the latency, and a Date
// omits up to a second: with a Date on both sides, an older time is stale, if one clock made both.
func (p *formPath) timeCode(side int, v *value, e *formExchange) (code uint64, ok bool) {
	if v.at.IsZero() || e.timeless || e.at.IsZero() || len(p.Offsets) < warm {
		return 0, false
	}
	low, high := slices.Min(p.Offsets), slices.Max(p.Offsets)
	pad, off, took := max(nowRange, high-low)/2, v.at.Sub(e.moment(side)).Milliseconds(), e.took[side]
	other := Candidate - min(side, Candidate)
	switch {
	case slices.ContainsFunc(p.now[other], func(o value) bool { return bytes.Equal(o.raw, v.raw) }):
		return asUsual, true
	case off < low-pad:
		return earlier, true
	case off > high+pad:
		return later, true
	case high-low <= nowRange && off < low-(took+time.Second).Milliseconds() && took > 0 && p.rule == "" && e.isDated(Monolith) && e.isDated(side):
		return stale, true
	}
	return asUsual, true
}

// feature is the evidence of one derived place.
type feature struct {
	Bets eprocess.Bets `json:"b"`
	// Rows are categories of the monolith's values, a few of all N.
	Rows []row `json:"rows,omitempty"`
	N    int   `json:"n,omitempty"`
	// Of counts the exchanges bet on; in Odd of them the candidate alone was unusual. Dev sums how
	// unusual each response was; Again counts the second responses.
	Of    int        `json:"of,omitempty"`
	Odd   int        `json:"odd,omitempty"`
	Dev   [3]float64 `json:"dev"`
	Again int        `json:"again,omitempty"`
	// Odds are the categories of the Odd ones, a few.
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

// rest is how many values had no row.
func (f *feature) rest() int {
	n := f.N
	for _, r := range f.Rows {
		n -= r.Count
	}
	return n
}

// ready reports whether enough of the monolith's values are known for a derived place. Values that
// repeat by chance or from a cache repeat at other times on each side. So do numbers, unless they are
// given out one after another.
func (p *formPath) ready(k int) bool {
	f := &p.Feature[k]
	switch k {
	case featWord:
		return f.N >= 2*warm && f.rest() == 0
	case featSize:
		return f.N >= 2*warm
	case featRepeat:
		return f.N >= warm && p.isNew() && (!p.isNumber() || p.rises())
	case featEnd:
		return f.N >= warm && f.isNew()
	}
	return f.N >= warm
}

// unusual is 0 for the monolith's most frequent category and 1 for one never seen. Where categories
// outnumber rows, one without a row may have been seen. For a declared form, another class is unusual.
// Of words and forms of numbers only what was never seen is: a word's frequency is compared as a draw,
// and changing numbers that lie close together have the same decimals for a while.
func (p *formPath) unusual(k int, code uint64, class formClass) float64 {
	f := &p.Feature[k]
	n, most := f.count(code), f.top().Count
	switch {
	case k == featForm && p.rule != "":
		return eprocess.Indicator(string(class) != p.rule)
	case k == featWord, k == featForm && p.isNumber():
		return eprocess.Indicator(f.N > 0 && n == 0)
	case n == 0:
		n = f.rest() / few
	}
	return 1 - min(1, float64(n)/float64(max(1, most)))
}

// settleFeature bets on the categories of one exchange, if ready, and then counts them. It reports
// whether the candidate alone was unusual.
func (p *formPath) settleFeature(k int, e *formExchange, ready bool) (odd bool) {
	f := &p.Feature[k]
	high, oddest := [3]float64{-1, -1, -1}, category{}
	for side := range p.now {
		for c := range p.categories(k, side, e) {
			h := p.unusual(k, c.code, c.value.form.class)
			if side == Candidate && h > high[side] {
				oddest = c
			}
			high[side] = max(high[side], h)
		}
	}
	if high[Monolith] < 0 || high[Candidate] < 0 {
		return false
	}
	if ready {
		f.Bets.Bet(high[Candidate]-high[Monolith], e.alpha, e.n)
		f.Of++
		f.Again += int(eprocess.Indicator(high[Repeat] >= 0))
		for side, h := range high {
			f.Dev[side] += max(0, h)
		}
		if odd = high[Candidate] > 0.5 && high[Monolith] <= 0.5; odd {
			f.Odd++
			f.Odds = counted(f.Odds, k, oddest)
		}
	}
	for c := range p.categories(k, Monolith, e) {
		f.N++
		f.Rows = counted(f.Rows, k, c)
	}
	return odd
}

// counted counts a category, if there is room for it.
func counted(rows []row, k int, c category) []row {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.Code == c.code }); i >= 0 {
		rows[i].Count++
	} else if len(rows) < few {
		rows = append(rows, row{c.code, display.Snippet([]byte(c.words(k)), display.ValueShown), 1, c.value.form.class})
	}
	return rows
}

// decidedAt is the exchange at which a derived place was shown to differ; 0 where it was not.
func (p *formPath) decidedAt(k int) int {
	if p.isExcused(k) || p.isNoProof(k) {
		return 0
	}
	return p.Feature[k].Bets.At
}

// isNoProof reports whether a deviation prevents EQUIVALENT but proves no fault: the fixed words of
// varying texts, which may name a server; the end of an id, which may be a server's own; and a time that
// another clock than the Date's may have made.
func (p *formPath) isNoProof(k int) bool {
	f := &p.Feature[k]
	switch k {
	case featForm:
		return p.rule == "" && f.top().Class == classText && topOf(f.Odds).Class == classText
	case featTime:
		return topOf(f.Odds).Code == stale
	}
	return k == featEnd
}

// isSuspected reports whether a difference at a derived place is suspected but not shown.
func (p *formPath) isSuspected(k int) bool {
	return p.Feature[k].Bets.Now >= eprocess.Suspected && p.decidedAt(k) == 0 && !p.isExcused(k)
}

// isExcused reports whether a deviation is no evidence: each server holds a state of its own there, half
// of the candidate's unusual values are usual by now, or the monolith's second responses deviate from
// its first half as much as the candidate's, so that the order of asking makes the difference.
func (p *formPath) isExcused(k int) bool {
	f := &p.Feature[k]
	all, still := 0, 0
	for _, r := range f.Odds {
		all += r.Count
		still += r.Count * int(eprocess.Indicator(p.unusual(k, r.Code, r.Class) > 0.5))
	}
	if p.isOwn() || 2*still <= all {
		return true
	}
	of := func(side, n int) float64 { return f.Dev[side] / float64(max(1, n)) }
	first := of(Monolith, f.Of)
	return f.Again > 0 && of(Repeat, f.Again)-first >= (of(Candidate, f.Of)-first)/2
}

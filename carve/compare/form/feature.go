package form

import (
	"slices"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// feature is the evidence of one derived place.
type feature struct {
	Bets eprocess.Bets `json:"b"`
	// M, C and R count the categories of the monolith's values, the candidate's and
	// the monolith's second ones.
	M table `json:"m"`
	C table `json:"c"`
	R table `json:"r"`
	// Of so many exchanges, the candidate alone was unusual in Odd.
	Of  int `json:"of,omitempty"`
	Odd int `json:"odd,omitempty"`
	// Words are what the candidate's last unusual value was.
	Words string `json:"w,omitempty"`
}

// table counts categories.
type table struct {
	Rows []row `json:"rows,omitempty"`
	// N counts all, those too that have no row.
	N int `json:"n,omitempty"`
}

type row struct {
	Code  uint64 `json:"k"`
	Words string `json:"w,omitempty"`
	Count int    `json:"n"`
	// Class is that of the feature form.
	Class formClass `json:"c,omitempty"`
}

func (t *table) add(c category) {
	t.N++
	for i := range t.Rows {
		if t.Rows[i].Code == c.code {
			t.Rows[i].Count++
			return
		}
	}
	if len(t.Rows) < formEntries {
		t.Rows = append(t.Rows, row{c.code, display.Snippet([]byte(c.words()), display.ValueShown), 1, c.class})
	}
}

func (t *table) count(code uint64) int {
	for i := range t.Rows {
		if t.Rows[i].Code == code {
			return t.Rows[i].Count
		}
	}
	return 0
}

// top is the most frequent category; the zero row where there is none.
func (t *table) top() row {
	var best row
	for _, r := range t.Rows {
		if r.Count > best.Count {
			best = r
		}
	}
	return best
}

// unusual is 0 for the most frequent category, 1 for one that was never seen. Where
// there are more categories than rows, one without a row may have been seen.
func (t *table) unusual(c category) float64 {
	most := t.top().Count
	if most == 0 {
		return 0
	}
	n := t.count(c.code)
	if n == 0 {
		n = t.rest() / formEntries
	}
	return 1 - min(1, float64(n)/float64(most))
}

// seldom reports whether a category is none of anewShare.
func (t *table) seldom(code uint64) bool { return t.N > 0 && anewShare*t.count(code) <= t.N }

// never is 1 for a category that was never seen. How often a word comes is compared as a draw,
// and of numbers that move those near to each other have the same decimals for a while.
func (t *table) never(c category) float64 { return eprocess.Indicator(t.N > 0 && t.count(c.code) == 0) }

// rest is how many had no row.
func (t *table) rest() int {
	n := t.N
	for _, r := range t.Rows {
		n -= r.Count
	}
	return n
}

// unusualOf is how unusual the values of a table are in the mean.
func (t *table) unusualOf(h func(category) float64) float64 {
	sum, n := 0.0, 0
	for _, r := range t.Rows {
		sum += float64(r.Count) * h(category{code: r.Code, class: r.Class})
		n += r.Count
	}
	return sum / float64(max(1, n))
}

// settle bets on the categories of one exchange, if enough is known, and then counts them. It
// reports whether the candidate alone was unusual.
func (f *feature) settle(e *formExchange, h func(*table, category) float64, ready bool, slack float64) (odd bool) {
	most := func(list []category) float64 {
		high := 0.0
		for _, c := range list {
			high = max(high, h(&f.M, c))
		}
		return high
	}
	if ready {
		candidate, monolith := most(e.lists[Candidate]), most(e.lists[Monolith])
		f.Bets.Bet((candidate-monolith-slack)/(1+slack), e.alpha, e.n)
		f.Of++
		if odd = candidate > 0.5 && monolith <= 0.5; odd {
			f.Odd++
			i := slices.IndexFunc(e.lists[Candidate], func(c category) bool { return h(&f.M, c) == candidate })
			f.Words = display.Snippet([]byte(e.lists[Candidate][i].words()), display.ValueShown)
		}
	}
	for side, t := range [3]*table{&f.M, &f.C, &f.R} {
		for _, c := range e.lists[side] {
			t.add(c)
		}
	}
	return odd
}

// bySecond reports whether the monolith's own second responses deviate from its first ones by
// half as much as the candidate's do, so that it is the order of asking that makes the
// difference; or whether nothing deviates any more, by what is usual now.
func (f *feature) bySecond(h func(*table, category) float64) bool {
	of := func(c category) float64 { return h(&f.M, c) }
	first := f.M.unusualOf(of)
	return f.R.N > 0 && f.R.unusualOf(of)-first >= (f.C.unusualOf(of)-first)/2
}

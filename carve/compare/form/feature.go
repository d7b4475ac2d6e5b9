package form

import (
	"slices"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// feature is the test of one feature at one place.
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
	if n == 0 && len(t.Rows) == formEntries {
		rest := t.N
		for _, r := range t.Rows {
			rest -= r.Count
		}
		n = rest / formEntries
	}
	return 1 - min(1, float64(n)/float64(most))
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

func (t *table) valid() bool {
	sum := 0
	for _, r := range t.Rows {
		if r.Count < 0 || len(r.Words) > 2*display.ValueShown {
			return false
		}
		sum += r.Count
	}
	return sum <= t.N && len(t.Rows) <= formEntries
}

// featureRound is one exchange for one feature.
type featureRound struct {
	monolith, candidate, repeat []category
	alpha                       float64
	n                           int
}

// settle bets on one exchange, if enough is known, and then counts it. It reports
// whether the candidate alone was unusual.
func (f *feature) settle(r *featureRound, h func(*table, category) float64, ready bool, slack float64) (odd bool) {
	most := func(list []category) float64 {
		high := 0.0
		for _, c := range list {
			high = max(high, h(&f.M, c))
		}
		return high
	}
	if ready {
		candidate, monolith := most(r.candidate), most(r.monolith)
		f.Bets.Bet((candidate-monolith-slack)/(1+slack), r.alpha, r.n)
		f.Of++
		if odd = candidate > 0.5 && monolith <= 0.5; odd {
			f.Odd++
			i := slices.IndexFunc(r.candidate, func(c category) bool { return h(&f.M, c) == candidate })
			f.Words = display.Snippet([]byte(r.candidate[i].words()), display.ValueShown)
		}
	}
	for _, c := range r.monolith {
		f.M.add(c)
	}
	for _, c := range r.candidate {
		f.C.add(c)
	}
	for _, c := range r.repeat {
		f.R.add(c)
	}
	return odd
}

// bySecond reports whether the monolith's own second responses deviate from its
// first ones by half as much as the candidate's do, so that it is the order of
// asking that makes the difference.
func (f *feature) bySecond(h func(*table, category) float64) bool {
	if f.R.N == 0 {
		return false
	}
	of := func(c category) float64 { return h(&f.M, c) }
	first := f.M.unusualOf(of)
	return f.R.unusualOf(of)-first >= (f.C.unusualOf(of)-first)/2
}

func (f *feature) valid() bool {
	return f.Bets.Valid() && f.M.valid() && f.C.valid() && f.R.valid() && eprocess.UpTo(f.Odd, f.Of) && len(f.Words) <= 2*display.ValueShown
}

package campaign

import (
	"cmp"
	"slices"
	"strings"

	"whittle"
	"whittle/bench/proof/engine"
)

// Figures are what a campaign comes to: what is written to proof.json.
type Figures struct {
	Families  int `json:"families"`
	Mutations int `json:"mutations"`
	// Pairs of both that are one: a mutation that changes nothing of a family is
	// not counted.
	Pairs int `json:"pairs"`
	Runs  int `json:"runs"`
	// CaughtShare is the share of the runs with mutations that touch at least one
	// request in 400 that were refused before the candidate had users, or never
	// got beyond the first step. CaughtRuns is how many those runs are.
	CaughtShare float64 `json:"caught_share"`
	CaughtRuns  int     `json:"caught_runs"`
	// NamedShare is the share of the same runs in which a finding, a guard or the
	// circuit breaker spoke; the others waited for evidence to the end.
	NamedShare float64 `json:"named_share"`
	// OverBudgetShare is the share of all mutated runs in which more of the
	// route's requests got a wrong response than rollout.harm allows.
	OverBudgetShare float64 `json:"over_budget_share"`
	FaithfulRuns    int     `json:"faithful_runs"`
	// FalseDifferentShare is the share of the faithful runs that were called
	// DIFFERENT, FalseRollbackShare of those that lost users for any reason, and
	// FaithfulLiveShare of those that came to the end of the shift.
	FalseDifferentShare float64      `json:"false_different_share"`
	FalseRollbackShare  float64      `json:"false_rollback_share"`
	FaithfulLiveShare   float64      `json:"faithful_live_share"`
	FirstAsked          []FirstAsked `json:"first_asked"`
	Goals               []Goal       `json:"goals"`
	Rows                []Row        `json:"rows"`
	Missed              []Missed     `json:"missed,omitempty"`
	FaithfulRows        []Row        `json:"faithful"`
	Gateway             []Real       `json:"gateway,omitempty"`
}

// FirstAsked is what users met of a candidate that is wrong when asked first.
type FirstAsked struct {
	Percent  int `json:"percent"`
	Runs     int `json:"runs"`
	Median   int `json:"median_wrong"`
	P95      int `json:"p95_wrong"`
	MostStep int `json:"largest_bp"`
	// Within is the share of the runs that never got beyond the first step.
	Within float64 `json:"within_first_step"`
}

// Goal is a bound that the issue sets.
type Goal struct {
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound"`
	AtMost bool    `json:"at_most"`
	Met    bool    `json:"met"`
}

// Row is a mutation over all of its families, or a family's faithful candidate.
type Row struct {
	Name     string `json:"name"`
	Does     string `json:"does"`
	Late     bool   `json:"late,omitempty"`
	Families int    `json:"families"`
	Runs     int    `json:"runs"`
	// Touches is the median over families.
	Touches float64 `json:"touches"`
	// Finding spoke most often, in FindingRuns of Runs.
	Finding     string `json:"finding"`
	FindingRuns int    `json:"finding_runs"`
	// Ends counts the runs by where they came to.
	Ends map[engine.End]int `json:"ends"`
	// Exchanges until it was named, Wrong and Slow responses to users: median and
	// 95th percentile.
	ExchangesMedian int `json:"exchanges_median"`
	ExchangesP95    int `json:"exchanges_p95"`
	WrongMedian     int `json:"wrong_median"`
	WrongP95        int `json:"wrong_p95"`
	WrongMost       int `json:"wrong_most"`
	SlowMost        int `json:"slow_most"`
	Largest         int `json:"largest_bp"`
	// Beyond are the runs that got beyond the first step, Over those that went
	// over the harm budget.
	Beyond int `json:"beyond_first_step"`
	Over   int `json:"over_budget"`
}

// Missed is a pair that got beyond the first step in a run.
type Missed struct {
	Family   string  `json:"family"`
	Mutation string  `json:"mutation"`
	Touches  float64 `json:"touches"`
	Beyond   int     `json:"beyond_first_step"`
	Of       int     `json:"of"`
	Over     int     `json:"over_budget"`
	Largest  int     `json:"largest_bp"`
	Finding  string  `json:"finding"`
	Wrong    int     `json:"wrong_most"`
	// Seed of the first of these runs.
	Seed uint64 `json:"seed"`
}

// Sum makes the figures. first is the first step of the rollout, harm the budget.
func Sum(mutated, faithful []*Pair, first whittle.Share, harm float64) Figures {
	s := summing{first: first, harm: harm}
	f := Figures{Pairs: len(mutated)}
	families, mutations := map[string]bool{}, []string{}
	var caught, named, over int
	for _, p := range mutated {
		families[p.Family.Name] = true
		if !slices.Contains(mutations, p.Mutation.Name) {
			mutations = append(mutations, p.Mutation.Name)
		}
		f.Runs += len(p.Runs)
		for i := range p.Runs {
			if p.Runs[i].Harmed(harm) {
				over++
			}
			if p.Touch.Share() < Rare || p.Mutation.Late {
				continue
			}
			f.CaughtRuns++
			if p.Runs[i].Largest <= first {
				caught++
			}
			if p.Runs[i].End == engine.Refused || p.Runs[i].End == engine.RolledBack {
				named++
			}
		}
		if m, ok := s.missed(p); ok {
			f.Missed = append(f.Missed, m)
		}
	}
	f.Families, f.Mutations = len(families), len(mutations)
	f.CaughtShare, f.NamedShare, f.OverBudgetShare = part(caught, f.CaughtRuns), part(named, f.CaughtRuns), part(over, f.Runs)
	for _, name := range mutations {
		f.Rows = append(f.Rows, s.row(of(mutated, name)))
	}
	for _, percent := range []int{100, 30, 10} {
		f.FirstAsked = append(f.FirstAsked, s.firstAsked(percent, mutated))
	}
	s.faithful(&f, faithful)
	f.Goals = goals(&f)
	return f
}

func part(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

func of(pairs []*Pair, mutation string) []*Pair {
	var out []*Pair
	for _, p := range pairs {
		if p.Mutation.Name == mutation {
			out = append(out, p)
		}
	}
	return out
}

type summing struct {
	first whittle.Share
	harm  float64
}

// row sums up pairs of one mutation, or of one family.
func (s *summing) row(pairs []*Pair) Row {
	r := Row{Families: len(pairs), Ends: map[engine.End]int{}}
	if m := pairs[0].Mutation; m != nil {
		r.Name, r.Does, r.Late = m.Name, m.Does, m.Late
	} else {
		r.Name, r.Does = pairs[0].Family.Name, pairs[0].Family.About
	}
	var touches []float64
	var exchanges, wrong []int
	findings := map[string]int{}
	for _, p := range pairs {
		touches = append(touches, p.Touch.Share())
		for i := range p.Runs {
			run := &p.Runs[i]
			r.Runs++
			r.Ends[run.End]++
			if run.End == engine.Refused || run.End == engine.RolledBack {
				findings[kindOf(run.Finding)]++
				exchanges = append(exchanges, run.Named)
			}
			wrong = append(wrong, run.Wrong)
			r.SlowMost, r.Largest = max(r.SlowMost, run.Slow), max(r.Largest, int(run.Largest))
			if run.Largest > s.first {
				r.Beyond++
			}
			if run.Harmed(s.harm) {
				r.Over++
			}
		}
	}
	r.Touches = quantile(touches, 0.5)
	r.ExchangesMedian, r.ExchangesP95 = quantile(exchanges, 0.5), quantile(exchanges, 0.95)
	r.WrongMedian, r.WrongP95, r.WrongMost = quantile(wrong, 0.5), quantile(wrong, 0.95), quantile(wrong, 1)
	r.Finding, r.FindingRuns = most(findings)
	return r
}

// kindOf leaves out where: paths are as many as families.
func kindOf(finding string) string {
	if kind, name, _ := strings.Cut(finding, " "); kind != "guard" && kind != "circuit" && kind != "header" {
		return kind
	} else if kind == "header" {
		return kind + " " + name
	}
	return finding
}

func most(counts map[string]int) (name string, n int) {
	for k, v := range counts {
		if v > n || (v == n && k < name) {
			name, n = k, v
		}
	}
	return name, n
}

// quantile is the smallest value that a share q of them does not pass; 0 of none.
func quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	at := int(q*float64(len(values))+0.999999) - 1
	return values[min(max(at, 0), len(values)-1)]
}

func (s *summing) missed(p *Pair) (Missed, bool) {
	m := Missed{Family: p.Family.Name, Mutation: p.Mutation.Name, Touches: p.Touch.Share(), Of: len(p.Runs)}
	for i := range p.Runs {
		r := &p.Runs[i]
		if r.Harmed(s.harm) {
			m.Over++
		}
		if r.Largest > s.first {
			if m.Beyond++; m.Seed == 0 {
				m.Seed = r.Seed
			}
		}
		m.Wrong, m.Largest = max(m.Wrong, r.Wrong), max(m.Largest, int(r.Largest))
		m.Finding = cmp.Or(m.Finding, r.Finding)
	}
	judged := p.Touch.Share() >= Rare && !p.Mutation.Late
	return m, m.Over > 0 || (judged && m.Beyond > 0)
}

func (s *summing) firstAsked(percent int, mutated []*Pair) FirstAsked {
	f := FirstAsked{Percent: percent}
	var wrong []int
	within := 0
	for _, p := range of(mutated, map[int]string{100: "first-100", 30: "first-30", 10: "first-10"}[percent]) {
		for i := range p.Runs {
			f.Runs++
			wrong = append(wrong, p.Runs[i].Wrong)
			f.MostStep = max(f.MostStep, int(p.Runs[i].Largest))
			if p.Runs[i].Largest <= s.first {
				within++
			}
		}
	}
	f.Median, f.P95, f.Within = quantile(wrong, 0.5), quantile(wrong, 0.95), part(within, f.Runs)
	return f
}

func (s *summing) faithful(f *Figures, pairs []*Pair) {
	var different, back, live int
	for _, p := range pairs {
		for i := range p.Runs {
			r := &p.Runs[i]
			f.FaithfulRuns++
			if r.Verdict == whittle.Different {
				different++
			}
			switch r.End {
			case engine.RolledBack:
				back++
			case engine.Live:
				live++
			}
		}
		if len(p.Runs) > 0 {
			f.FaithfulRows = append(f.FaithfulRows, s.row([]*Pair{p}))
		}
	}
	f.FalseDifferentShare, f.FalseRollbackShare, f.FaithfulLiveShare = part(different, f.FaithfulRuns), part(back, f.FaithfulRuns), part(live, f.FaithfulRuns)
}

// goals are those of the issue. What falls short is shown as such.
func goals(f *Figures) []Goal {
	var list []Goal
	if f.Runs > 0 {
		list = append(
			list,
			Goal{What: "mutations that touch 1 request in 400 refused before or at the first step", Value: f.CaughtShare, Bound: 0.999},
			Goal{What: "runs over their harm budget", Value: f.OverBudgetShare, Bound: 0.01, AtMost: true},
		)
	}
	if f.FaithfulRuns > 0 {
		list = append(list, Goal{What: "faithful candidates called DIFFERENT", Value: f.FalseDifferentShare, Bound: 0.01, AtMost: true})
	}
	for _, a := range f.FirstAsked {
		if a.Runs == 0 {
			continue
		}
		what := map[int]string{100: "always", 30: "in 30 %", 10: "in 10 %"}[a.Percent] + " wrong when asked first: "
		list = append(
			list,
			Goal{What: what + "median of users' wrong responses", Value: float64(a.Median), Bound: 15, AtMost: true},
			Goal{What: what + "95th percentile", Value: float64(a.P95), Bound: 30, AtMost: true},
			Goal{What: what + "runs never above the first step", Value: a.Within, Bound: 0.99},
		)
	}
	for i := range list {
		g := &list[i]
		g.Met = g.Value >= g.Bound
		if g.AtMost {
			g.Met = g.Value <= g.Bound
		}
	}
	return list
}

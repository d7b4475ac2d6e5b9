package sum

import (
	"whittle/e2e/campaign/engine"
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
	// Shift is how long it took from the first mirrored request until all users
	// were on the candidate, in seconds, of those runs that came there.
	ShiftMedian int `json:"shift_median_s,omitempty"`
	ShiftP95    int `json:"shift_p95_s,omitempty"`
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

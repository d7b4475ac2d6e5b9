package sum

import (
	"cmp"
	"slices"
	"strings"

	"whittle"
	"whittle/e2e/campaign/engine"
)

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
			if p.Runs[i].Spoken() {
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
	var exchanges, wrong, shift []int
	findings := map[string]int{}
	for _, p := range pairs {
		touches = append(touches, p.Touch.Share())
		for i := range p.Runs {
			run := &p.Runs[i]
			r.Runs++
			r.Ends[run.End]++
			if run.Spoken() {
				findings[kindOf(run.Finding)]++
				exchanges = append(exchanges, run.Named)
			}
			wrong = append(wrong, run.Wrong)
			if run.Shift > 0 {
				shift = append(shift, int(run.Shift.Seconds()))
			}
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
	r.ShiftMedian, r.ShiftP95 = quantile(shift, 0.5), quantile(shift, 0.95)
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

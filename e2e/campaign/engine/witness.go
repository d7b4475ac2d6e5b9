package engine

import (
	"cmp"
	"strings"

	"whittle"
	"whittle/carve/control"
)

// observer looks at what the judge and the guards say to the controller, so that
// a run ends when they have spoken. It changes nothing of it.
type observer struct {
	verdict whittle.Verdict
	breach  whittle.Meter
	// wait is why a guard lets a rise wait now, and since how many compared exchanges.
	wait  string
	since int
}

type judge struct {
	control.Judge
	w *observer
}

func (j judge) Verdict() whittle.Verdict {
	v := j.Judge.Verdict()
	j.w.verdict = v
	return v
}

type guard struct {
	control.Guard
	w *observer
}

func (g guard) Meters() []whittle.Meter {
	list := g.Guard.Meters()
	for _, m := range list {
		if m.Breached && g.w.breach.Name == "" {
			g.w.breach = m
		}
	}
	return list
}

func (g guard) Wait() string {
	wait := g.Guard.Wait()
	if wait != "" && g.w.wait == "" {
		g.w.since = g.w.verdict.Compared
	}
	g.w.wait = wait
	return wait
}

func (g *gateway) newJudge(c whittle.Comparison) (control.Judge, error) {
	j, err := control.NewJudge(c)
	return judge{j, g.seen}, err
}

func (g *gateway) newGuard(spec whittle.Guard) control.Guard {
	return guard{control.NewGuard(spec), g.seen}
}

// named is what spoke against the candidate.
func (w *observer) named(end End) string {
	if w.verdict.State != whittle.Different && w.breach.Name != "" && end == RolledBack {
		return "guard " + w.breach.Name
	}
	if end == Waiting && w.wait != "" {
		return "guard p99 (waits)"
	}
	var best *whittle.Finding
	for i := range w.verdict.Findings {
		f := &w.verdict.Findings[i]
		if f.Expected != "" || (w.verdict.State == whittle.Different && !f.Decided) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(f.EValue, best.EValue), cmp.Compare(f.Count, best.Count)) > 0 {
			best = f
		}
	}
	if best == nil {
		return ""
	}
	return strings.TrimSpace(string(best.Kind) + " " + best.Path)
}

package sum

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"whittle/e2e/campaign/engine"
	"whittle/internal/units"
)

// Real is a run through the gateway's binary and sockets.
type Real struct {
	Family   string     `json:"family"`
	Mutation string     `json:"mutation"`
	End      engine.End `json:"end"`
	Finding  string     `json:"finding"`
	Requests int        `json:"requests"`
	Compared int        `json:"compared"`
	Largest  int        `json:"largest_bp"`
	Wrong    int        `json:"wrong"`
	Served   int        `json:"served"`
}

// Summary writes how much was tried and which goals were met, for people and BENCHMARKS.md.
func (f *Figures) Summary(w io.Writer) error {
	var b strings.Builder
	f.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Figures) summary(b *strings.Builder) {
	fmt.Fprintf(b, "%s families, %s mutations, %s pairs of both, %s runs; %s runs with faithful candidates. A mutation that changes nothing of a family is not counted.\n\n",
		units.Grouped(f.Families), units.Grouped(f.Mutations), units.Grouped(f.Pairs), units.Grouped(f.Runs), units.Grouped(f.FaithfulRuns))
	f.goalTable(b)
	if len(f.Gateway) == 0 {
		return
	}
	ok := 0
	for _, r := range f.Gateway {
		if r.Caught() {
			ok++
		}
	}
	fmt.Fprintf(b, "%d pairs went through the built `whittle run`, real processes and sockets: %d ended as they should.\n\n", len(f.Gateway), ok)
}

// goalTable says nothing of what had no runs.
func (f *Figures) goalTable(b *strings.Builder) {
	if len(f.Goals) == 0 {
		return
	}
	b.WriteString("| | measured | goal | |\n|---|---|---|---|\n")
	for _, g := range f.Goals {
		sign, met := "at least", "met"
		if g.AtMost {
			sign = "at most"
		}
		if !g.Met {
			met = "**missed**"
		}
		fmt.Fprintf(b, "| %s | %s | %s %s | %s |\n", g.What, figure(g.Value, g.Bound), sign, figure(g.Bound, g.Bound), met)
	}
	var said []string
	if f.CaughtRuns > 0 {
		said = append(said, fmt.Sprintf("Of the %s runs whose mutation touches at least 1 request in 400, %s were named by a finding, a guard or the circuit breaker. The others waited for evidence at the first step or before it.",
			units.Grouped(f.CaughtRuns), percent(f.NamedShare)))
	}
	if f.FaithfulRuns > 0 {
		said = append(said, fmt.Sprintf("%s of the faithful runs came to the end of the shift, %s lost their users on the way.", percent(f.FaithfulLiveShare), percent(f.FalseRollbackShare)))
	}
	b.WriteString("\n" + strings.Join(said, " ") + "\n\n")
}

// figure writes shares in percent and counts as they are.
func figure(x, bound float64) string {
	if bound <= 1 {
		return percent(x)
	}
	return fmt.Sprint(x)
}

func percent(x float64) string {
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", 100*x), "0"), ".")
	return s + " %"
}

// Caught reports whether a mutated candidate never got beyond the first step,
// and a faithful one was not refused.
func (r *Real) Caught() bool {
	if r.Mutation == "" {
		return !slices.Contains([]engine.End{engine.Refused, engine.RolledBack}, r.End)
	}
	return r.Largest <= 100
}

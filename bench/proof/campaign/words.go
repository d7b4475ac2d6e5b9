package campaign

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"whittle/bench/proof/engine"
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

// Markdown writes the tables for docs/proof.md.
func (f *Figures) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s families, %s mutations, %s pairs of both (a mutation that changes nothing of a family is not counted), %s runs; %s runs with faithful candidates.\n\n",
		units.Grouped(f.Families), units.Grouped(f.Mutations), units.Grouped(f.Pairs), units.Grouped(f.Runs), units.Grouped(f.FaithfulRuns))
	f.goalTable(&b)
	f.mutationTable(&b)
	f.missedTable(&b)
	f.faithfulTable(&b)
	f.realTable(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// goalTable says nothing of what had no runs.
func (f *Figures) goalTable(b *strings.Builder) {
	if len(f.Goals) == 0 {
		return
	}
	b.WriteString("### The goals\n\n| | measured | goal | |\n|---|---|---|---|\n")
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
		said = append(said, fmt.Sprintf("Of the %s runs whose mutation touches at least 1 request in 400, %s were named by a finding, a guard or the circuit breaker; the others waited for evidence at the first step or before it.",
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

func share(bp int) string { return percent(float64(bp) / 10_000) }

func (f *Figures) mutationTable(b *strings.Builder) {
	if len(f.Rows) == 0 {
		return
	}
	b.WriteString("### The mutations\n\n| mutation | what goes wrong | touches | families | named by | exchanges until named | largest share | users' wrong responses | ends |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range f.Rows {
		r := &f.Rows[i]
		named := "nothing"
		if r.Finding != "" {
			named = fmt.Sprintf("%s (%d of %d)", r.Finding, r.FindingRuns, r.Runs)
		}
		touches := percent(r.Touches)
		if r.Late {
			touches = "later"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %d | %s | %s | %s | %s | %s |\n",
			r.Name, r.Does, touches, r.Families, named, spread(r.ExchangesMedian, r.ExchangesP95), share(r.Largest), wrong(r), ends(r))
	}
	b.WriteString("\nExchanges and wrong responses: median, and 95th percentile (of wrong responses also the most) over the runs. \"slow\" are those that took half as long again.\n\n")
}

func spread(median, p95 int) string {
	return fmt.Sprintf("%s; %s", units.Grouped(median), units.Grouped(p95))
}

func wrong(r *Row) string {
	s := fmt.Sprintf("%s; %s; %s", units.Grouped(r.WrongMedian), units.Grouped(r.WrongP95), units.Grouped(r.WrongMost))
	if r.SlowMost > 0 {
		s += fmt.Sprintf(" (slow: %s)", units.Grouped(r.SlowMost))
	}
	return s
}

func ends(r *Row) string {
	var parts []string
	for _, e := range []engine.End{engine.Refused, engine.RolledBack, engine.Waiting, engine.Live} {
		if n := r.Ends[e]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", e, n))
		}
	}
	return strings.Join(parts, ", ")
}

func (f *Figures) missedTable(b *strings.Builder) {
	if len(f.Missed) == 0 {
		return
	}
	b.WriteString("### What fell short\n\nPairs that got beyond the first step although they touch at least 1 request in 400, or went over the harm budget.\n\n| family | mutation | touches | beyond the first step | over budget | largest share | most wrong responses | named by | seed |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range f.Missed {
		fmt.Fprintf(b, "| %s | `%s` | %s | %d of %d | %d of %d | %s | %s | %s | %d |\n",
			m.Family, m.Mutation, percent(m.Touches), m.Beyond, m.Of, m.Over, m.Of, share(m.Largest), units.Grouped(m.Wrong), m.Finding, m.Seed)
	}
	b.WriteString("\n")
}

func (f *Figures) faithfulTable(b *strings.Builder) {
	if len(f.FaithfulRows) == 0 {
		return
	}
	b.WriteString("### Faithful candidates\n\n| family | | runs | ends | seconds until all users were on it: median; 95th percentile | a finding spoke |\n|---|---|---|---|---|---|\n")
	for i := range f.FaithfulRows {
		r := &f.FaithfulRows[i]
		spoke := "never"
		if r.Finding != "" {
			spoke = fmt.Sprintf("%s (%d)", r.Finding, r.FindingRuns)
		}
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s; %s | %s |\n", r.Name, r.Does, r.Runs, ends(r), units.Grouped(r.ShiftMedian), units.Grouped(r.ShiftP95), spoke)
	}
	b.WriteString("\n")
}

func (f *Figures) realTable(b *strings.Builder) {
	if len(f.Gateway) == 0 {
		return
	}
	ok := 0
	for _, r := range f.Gateway {
		if r.Caught() {
			ok++
		}
	}
	fmt.Fprintf(b, "### Through the gateway\n\n%d pairs through the built `whittle run`, real processes and sockets: %d as they should be.\n\n| family | mutation | end | named by | requests | compared | largest share | wrong of what the candidate served |\n|---|---|---|---|---|---|---|---|\n", len(f.Gateway), ok)
	for _, r := range f.Gateway {
		name := r.Mutation
		if name == "" {
			name = "faithful"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %d of %d |\n",
			r.Family, name, r.End, r.Finding, units.Grouped(r.Requests), units.Grouped(r.Compared), share(r.Largest), r.Wrong, r.Served)
	}
	b.WriteString("\n")
}

// Caught reports whether a mutated candidate never got beyond the first step,
// and a faithful one was not refused.
func (r *Real) Caught() bool {
	if r.Mutation == "" {
		return !slices.Contains([]engine.End{engine.Refused, engine.RolledBack}, r.End)
	}
	return r.Largest <= 100
}

package report

import (
	"cmp"
	"fmt"
	"io"

	"whittle/internal/chart"
	"whittle/internal/units"
	"whittle/profile"
)

// Comparison is what changed between two profiles.
type Comparison struct {
	Format string `json:"format"`
	// Words is the comparison's message.
	Words      string       `json:"words"`
	Kind       profile.Kind `json:"kind"`
	PerRequest bool         `json:"per_request"` // else per second
	Before     Side         `json:"before"`
	After      Side         `json:"after"`
	Total      Change       `json:"total"`
	Endpoints  []Change     `json:"endpoints,omitempty"`
	Categories []Change     `json:"kinds_of_work"`
	Lines      []Change     `json:"own_lines"`
	Functions  []Change     `json:"functions"`
}

// Side names one of the two.
type Side struct {
	Service  string          `json:"service"`
	Runtime  profile.Runtime `json:"runtime"`
	Requests int64           `json:"requests"`
	Sentence string          `json:"sentence"`
}

// Change is one row; figures are in milliseconds of CPU, or the kind's unit.
type Change struct {
	Name   string  `json:"name"`
	Where  string  `json:"where,omitempty"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Change float64 `json:"change"`
	// Ratio is before over after, with its 95 % interval. 0: too few samples saw a side.
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"ratio_low,omitempty"`
	High  float64 `json:"ratio_high,omitempty"`
}

// ComparisonFormat names the JSON's form.
const ComparisonFormat = "whittle.profile-diff/1"

// Compare lays two profiles of one kind side by side. renamed says which of the
// old endpoints is which of the new ones, where that is not plain by their names.
func Compare(before, after *profile.Profile, renamed map[string]string) *Comparison {
	d := profile.Diff(before, after, renamed)
	c := &Comparison{Format: ComparisonFormat, Kind: d.Kind, PerRequest: d.PerRequest}
	c.Before, c.After = side(before), side(after)
	unit := 1.0
	if d.Kind != profile.Allocations {
		unit = 1e6
	}
	rows := func(all []profile.Change, most int) []Change {
		out := []Change{}
		for _, x := range all[:min(len(all), most)] {
			row := Change{Name: x.Name, Before: x.Before / unit, After: x.After / unit, Change: x.Delta() / unit}
			row.Ratio, row.Low, row.High, _ = x.Ratio()
			if x.File != "" {
				row.Where = fmt.Sprintf("%s:%d", x.File, x.Line)
			}
			out = append(out, row)
		}
		return out
	}
	c.Total = rows([]profile.Change{d.Total}, 1)[0]
	c.Endpoints, c.Categories, c.Functions = rows(d.Endpoints, 20), rows(d.Categories, 20), rows(d.Functions, 40)
	c.Lines = rows(d.Lines, 20)
	c.Words = c.Sentence()
	return c
}

func side(p *profile.Profile) Side {
	return Side{p.Service, p.Runtime, p.AllRequests(), New([]*profile.Profile{p}).Sentence()}
}

func (c *Comparison) amount(v float64) string {
	if c.Kind == profile.Allocations {
		return units.Figure(v/1024) + " KiB"
	}
	return milliseconds(v)
}

func (c *Comparison) per() string {
	if c.PerRequest {
		return "a request"
	}
	return "a second"
}

// Sentence is the comparison's message: of the endpoint that changed most, else
// of all that was spent.
func (c *Comparison) Sentence() string {
	row, of := c.Total, ""
	for _, e := range c.Endpoints {
		if e.Name != "" && e.Ratio > 0 {
			row, of = e, e.Name+": "
			break
		}
	}
	runtimes := [2]string{}
	if c.Before.Runtime != c.After.Runtime {
		runtimes = [2]string{" in " + language(c.Before.Runtime), " in " + language(c.After.Runtime)}
	}
	b, a := row.Before, row.After
	words := "as dear as before, as far as the samples tell"
	switch {
	case a <= 0 || b <= 0:
		words = "not comparable: one side spent nothing"
	case row.Ratio == 0:
		words = "too few samples to compare: profile longer, or under more load"
	case row.Low > 1:
		words = times(row.Ratio, row.Low, row.High) + " cheaper"
	case row.High < 1:
		words = times(1/row.Ratio, 1/row.High, 1/row.Low) + " dearer"
	}
	what := ""
	if c.Kind == profile.CPU {
		what = " of CPU"
	}
	return fmt.Sprintf("%s%s%s %s before%s, %s after%s: %s.", of, c.amount(b), what, c.per(), runtimes[0], c.amount(a), runtimes[1], words)
}

// times writes a ratio with its 95 % interval.
func times(ratio, low, high float64) string {
	return fmt.Sprintf("%s times (%s to %s)", units.Figure(ratio), units.Figure(low), units.Figure(high))
}

func language(r profile.Runtime) string {
	return map[profile.Runtime]string{profile.Go: "Go", profile.Node: "Node.js"}[r]
}

func (c *Comparison) tables() []chart.Table {
	var out []chart.Table
	add := func(caption, first string, all []Change) {
		t := chart.Table{Caption: caption, Head: []string{first, "before", "after", "change", "where"}}
		for _, x := range all {
			sign := "+"
			if x.Change < 0 {
				sign = "−"
			}
			name := cmp.Or(x.Name, NoRequest)
			if x.Where != "" {
				name = profile.ShortName(name)
			}
			t.Rows = append(t.Rows, []string{name, c.amount(x.Before), c.amount(x.After), sign + c.amount(max(x.Change, -x.Change)), x.Where})
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	add("Own functions with what they ask for, at the line that asks for most, "+c.per(), "in", c.Lines)
	add("Endpoints, "+c.per(), "endpoint", c.Endpoints)
	add("Kinds of work, "+c.per(), "kind", c.Categories)
	add("Functions, by what is spent in them "+c.per(), "function", c.Functions)
	return out
}

// WriteSummary writes the comparison for a terminal.
func (c *Comparison) WriteSummary(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n%s\nbefore: %s\nafter:  %s\n", c.Sentence(), c.Before.Sentence, c.After.Sentence); err != nil {
		return err
	}
	for _, t := range c.tables() {
		if _, err := fmt.Fprintf(w, "\n%s\n", t.Caption); err != nil {
			return err
		}
		WriteTable(w, t.Head, t.Rows[:min(len(t.Rows), 15)])
	}
	return nil
}

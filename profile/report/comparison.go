package report

import (
	"fmt"
	"io"

	"whittle/chart"
	"whittle/profile"
	"whittle/profile/flame"
)

// Comparison is what changed between two profiles.
type Comparison struct {
	Format     string       `json:"format"`
	Kind       profile.Kind `json:"kind"`
	PerRequest bool         `json:"per_request"` // else per second
	Before     Side         `json:"before"`
	After      Side         `json:"after"`
	Total      Change       `json:"total"`
	Endpoints  []Change     `json:"endpoints,omitempty"`
	Categories []Change     `json:"kinds_of_work"`
	Functions  []Change     `json:"functions"`
	before     *profile.Profile
	after      *profile.Profile
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
}

// ComparisonFormat names the JSON's form.
const ComparisonFormat = "whittle.profile-diff/1"

// Compare lays two profiles of one kind side by side.
func Compare(before, after *profile.Profile) *Comparison {
	d := profile.Diff(before, after)
	c := &Comparison{Format: ComparisonFormat, Kind: d.Kind, PerRequest: d.PerRequest, before: before, after: after}
	c.Before, c.After = side(before), side(after)
	unit := 1.0
	if d.Kind == profile.CPU || d.Kind == profile.Mutex || d.Kind == profile.Block {
		unit = 1e6
	}
	rows := func(all []profile.Change, most int) []Change {
		out := []Change{}
		for _, x := range all[:min(len(all), most)] {
			row := Change{x.Name, "", x.Before / unit, x.After / unit, x.Delta() / unit}
			if x.File != "" {
				row.Where = fmt.Sprintf("%s:%d", x.File, x.Line)
			}
			out = append(out, row)
		}
		return out
	}
	c.Total = rows([]profile.Change{d.Total}, 1)[0]
	c.Endpoints, c.Categories, c.Functions = rows(d.Endpoints, 20), rows(d.Categories, 20), rows(d.Functions, 40)
	return c
}

func side(p *profile.Profile) Side {
	return Side{p.Service, p.Runtime, p.AllRequests(), New([]*profile.Profile{p}).Sentence()}
}

func (c *Comparison) amount(v float64) string {
	switch c.Kind {
	case profile.CPU, profile.Mutex, profile.Block:
		return milliseconds(v)
	case profile.Allocations, profile.Heap:
		return number(v/1024) + " KiB"
	}
	return number(v)
}

func (c *Comparison) per() string {
	if c.PerRequest {
		return "a request"
	}
	return "a second"
}

// Sentence is the comparison's message.
func (c *Comparison) Sentence() string {
	b, a := c.Total.Before, c.Total.After
	words := "as dear as before"
	switch {
	case a <= 0 || b <= 0:
		words = "not comparable: one side spent nothing"
	case b/a >= 1.05:
		words = number(b/a) + " times cheaper"
	case a/b >= 1.05:
		words = number(a/b) + " times dearer"
	}
	return fmt.Sprintf("%s %s before, %s after: %s.", c.amount(b), c.per(), c.amount(a), words)
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
			t.Rows = append(t.Rows, []string{short(x.Name), c.amount(x.Before), c.amount(x.After), sign + c.amount(max(x.Change, -x.Change)), x.Where})
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
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
		writeTable(w, t.Head, t.Rows[:min(len(t.Rows), 15)])
	}
	return nil
}

// WriteHTML writes the comparison as one file, with its flame graph.
func (c *Comparison) WriteHTML(w io.Writer) error {
	fig, err := flame.Between(c.before, c.after)
	if err != nil {
		return err
	}
	page := chart.Page{Title: "What became cheaper, and what dearer", Lead: c.Sentence(), Sections: []chart.Section{
		{Paragraphs: []string{"Before: " + c.Before.Sentence, "After: " + c.After.Sentence}, Figures: []chart.Figure{fig}},
		{Title: "In figures", Tables: c.tables()},
	}, Footer: "Made by whittle profile diff."}
	flame.Equip(&page)
	return page.WriteHTML(w)
}

package duel

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"whittle/internal/chart"
	"whittle/load/report"
)

// WriteSummary prints a comparison for people.
func (c *Comparison) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nA  %s\nB  %s\n", c.Plan, c.A.Target, c.B.Target)
	fmt.Fprintf(&b, "%d pairs of blocks of %s, %s, seed %d", c.Pairs, c.block(), c.Model, c.Seed)
	if c.Early {
		b.WriteString(", ended early")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\n\n\tA\tB\tB over A\t95 % interval\tp, all together\n")
	for i := range c.Figures {
		f := &c.Figures[i]
		cells := []string{f.label(), f.value(f.A), f.value(f.B), ratioText(f.Ratio), f.interval(), f.chance()}
		if f.Different {
			cells = append(cells, "different")
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
	fmt.Fprintf(&b, "\n%s\n", c.Verdict)
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "\nnote: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Compared) label() string {
	if f.Unit == "" {
		return f.Name
	}
	return f.Name + ", " + f.Unit
}

func (f *Compared) value(n Number) string {
	v := float64(n)
	if f.Key == "errors" {
		if math.IsNaN(v) {
			return "–"
		}
		return chart.Number(v*100) + " %"
	}
	return chart.Number(v)
}

func (f *Compared) interval() string {
	if f.Low == 0 && math.IsInf(float64(f.High), 1) || math.IsNaN(float64(f.High)) {
		return "–"
	}
	return ratioText(f.Low) + " to " + ratioText(f.High)
}

func (f *Compared) chance() string {
	switch p := float64(f.Adjusted); {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< 0.001"
	default:
		return fmt.Sprintf("%.2g", p)
	}
}

// better reports whether B's figure, where it differs, is the better one.
func (f *Compared) better() bool {
	if f.Key == "rate" {
		return f.Ratio > 1
	}
	return f.Ratio < 1
}

// WriteHTML writes the comparison as one self-contained HTML file.
func (c *Comparison) WriteHTML(w io.Writer) error {
	p := &chart.Page{
		Title: "Two targets under one schedule", Lead: c.Verdict,
		Footer: fmt.Sprintf("Made by whittle compare from %s, started %s, seed %d.", c.Plan, c.Started.Format("2006-01-02 15:04:05 MST"), c.Seed),
	}
	p.Sections = append(p.Sections, c.ratioSection(), c.distributionSection())
	if len(c.Blocks) > 0 {
		p.Sections = append(p.Sections, c.pairSection())
	}
	p.Sections = append(p.Sections, c.methodSection())
	return p.WriteHTML(w)
}

func (c *Comparison) ratioSection() chart.Section {
	s := chart.Section{Title: "How B stands to A", Tables: []chart.Table{{
		Caption: "A is " + c.A.Target + ", B is " + c.B.Target,
		Head:    []string{"Figure", "A", "B", "B over A", "95 % interval", "p, all together", "Verdict"},
	}}}
	for i := range c.Figures {
		f := &c.Figures[i]
		verdict := "no difference shown"
		switch {
		case f.Different && f.better():
			verdict = "B is better"
		case f.Different:
			verdict = "B is worse"
		case math.IsNaN(float64(f.P)):
			verdict = "no interval"
		}
		s.Tables[0].Rows = append(s.Tables[0].Rows, []string{
			f.label(), f.value(f.A), f.value(f.B), ratioText(f.Ratio), f.interval(), f.chance(), verdict,
		})
	}
	s.Paragraphs = append(s.Paragraphs, report.Sentences(c.Warnings)...)
	return s
}

func (c *Comparison) distributionSection() chart.Section {
	return chart.Section{Title: "Latency", Figures: []chart.Figure{
		chart.Distribution("Latency over the percentiles", "From when each request was due. The slowest tenth, hundredth and thousandth have equal room.", "ms", []chart.Quantiles{
			c.A.Distribution("A", chart.Monolith), c.B.Distribution("B", chart.Candidate),
		}),
		report.OverTime("Median over time", "What moves both lines alike is the machine.", "median", "ms",
			c.A.MedianOverTime("A", chart.Monolith), c.B.MedianOverTime("B", chart.Candidate)),
	}}
}

// pairSection shows each pair's own ratio.
func (c *Comparison) pairSection() chart.Section {
	ratios := chart.Series{Name: "B over A, of each pair", Role: chart.Candidate}
	one := chart.Series{Name: "no difference", Role: chart.Neutral}
	far := 1.0
	for _, p := range c.Blocks {
		y := math.NaN()
		if p.A > 0 && p.B > 0 {
			y = p.B / p.A
			far = max(far, y, 1/y)
		}
		ratios.Points = append(ratios.Points, chart.Point{X: p.At, Y: y})
		one.Points = append(one.Points, chart.Point{X: p.At, Y: 1})
	}
	return chart.Section{Title: "Pair by pair", Figures: []chart.Figure{chart.Line(chart.Plot{
		Title: "Ratio of the two medians of each pair", Caption: "A trend here would say that the difference itself changes while the load lasts.",
		XLabel: "since the start", XUnit: "s", YLabel: "ratio", LogY: far > 3, Series: []chart.Series{ratios, one},
	})}}
}

func (c *Comparison) methodSection() chart.Section {
	s := chart.Section{Title: "How this was measured", Paragraphs: []string{"Intervals: " + c.Method + "."}}
	if c.Pairs > 0 {
		s.Paragraphs = append(s.Paragraphs, fmt.Sprintf(
			"The plan's arrivals were cut into %d blocks of %s. Each block was sent to both targets with the same arrivals and the same random choices, a coin "+
				"decided who was first, and a block began only when every user of the one before was done.",
			c.Pairs, c.block()))
	}
	s.Paragraphs = append(s.Paragraphs,
		"Each interval holds the true ratio in 95 % of comparisons by itself. The verdicts are judged together (Holm): of comparisons of a target with "+
			"itself, at most 5 % call any figure different. So an interval may leave out 1 where the verdict is that no difference is shown.")
	return s
}

// block is how long a block is.
func (c *Comparison) block() time.Duration {
	return time.Duration(c.BlockSeconds * float64(time.Second)).Round(time.Millisecond)
}

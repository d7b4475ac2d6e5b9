package duel

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"whittle/internal/chart"
)

// WriteSummary prints a comparison for people.
func (c *Comparison) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nA  %s\nB  %s\n", c.Plan, c.A.Target, c.B.Target)
	block := time.Duration(c.BlockSeconds * float64(time.Second)).Round(time.Millisecond)
	fmt.Fprintf(&b, "%d pairs of blocks of %s, %s, seed %d", c.Pairs, block, c.Model, c.Seed)
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

package eprocess

import (
	"math/rand/v2"
	"testing"
)

// TestPayoffsMissing: none where the interval is within the margin, whichever way the payoffs lie,
// and -1 where no number of them can bring it there.
func TestPayoffsMissing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	p := Payoffs{}
	for range 500 {
		p.Add(0.1 + 0.5*(2*r.Float64()-1))
	}
	low, high := p.Interval(0.01)
	other := Payoffs{p.N, -p.Sum, p.Squares}
	for _, c := range []struct {
		p      Payoffs
		margin float64
		want   int
	}{
		{p, max(-low, high), 0},
		{other, max(-low, high), 0},
		{Payoffs{}, 0.5, -1},
		{p, 1e-9, -1},
		{Payoffs{1000, 500, 250}, 0.4, -1},
		{Payoffs{1000, -500, 250}, 0.4, -1},
		{Payoffs{1000, 0, 250}, 1e-9, -1},
	} {
		if got := c.p.Missing(0.01, c.margin); got != c.want {
			t.Errorf("%+v into %v: %d more, want %d", c.p, c.margin, got, c.want)
		}
	}
}

package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

func payoffs(r *rand.Rand, n int, spread, bias float64) (p Payoffs, all []float64) {
	for range n {
		g := bias + spread*(2*r.Float64()-1)
		p.Add(g)
		all = append(all, Clamp(g))
	}
	return p, all
}

// TestPayoffsInterval: it lies around the mean, as wide as the payoffs' squares have it, and
// ends where payoffs do.
func TestPayoffsInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for _, n := range []int{0, 1, 30, 4000} {
		p, _ := payoffs(r, n, 0.4, 0.1)
		low, high := p.Interval(0.01)
		half := HalfWidth(p.N, p.Squares, 0.01)
		if low != max(-1, p.Mean()-half) || high != min(1, p.Mean()+half) || low > p.Mean() || high < p.Mean() {
			t.Errorf("%+v: %v to %v", p, low, high)
		}
	}
}

// TestPayoffsMissing: as many more payoffs of the same kind bring the interval within the
// margin, or up to half of them do: into half of it where the mean may still be 0.
func TestPayoffsMissing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	found := 0
	for range 300 {
		p, _ := payoffs(r, 60+r.IntN(400), 0.9, 0.1*r.Float64()-0.05)
		const margin = 0.15
		got := p.Missing(0.01, margin)
		if low, high := p.Interval(0.01); got <= 0 {
			if inside := low >= -margin && high <= margin; inside != (got == 0) {
				t.Errorf("%+v: %d more, from %v to %v", p, got, low, high)
			}
			continue
		}
		room := margin - math.Abs(p.Mean())
		if math.Abs(p.Mean()) < HalfWidth(p.N, p.Squares, 0.01) {
			room = max(room, margin/2)
		}
		want := 0
		for step := max(1, p.N/100); HalfWidth(p.N+want, p.Squares*float64(p.N+want)/float64(p.N), 0.01) > room; {
			want += step
		}
		if part := float64(p.N+got) / float64(p.N+want); part < 0.8 || part > 2 {
			t.Errorf("%+v: %d more, and %d bring it into %v", p, got, want, room)
		}
		found++
	}
	if found < 100 {
		t.Errorf("%d cases", found)
	}
	p, _ := payoffs(r, 500, 0.5, 0.1)
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

package calc

import "example.com/services/start"

type Calc struct{ n int }

func New() *Calc { return &Calc{start.Planted(4_000_000)} }

func (c *Calc) Total(x int) (sum float64) {
	for i := range c.n {
		sum += step(float64(i + x))
	}
	return sum
}

func step(f float64) float64 { return f*f + 1/(f+1) } // planted

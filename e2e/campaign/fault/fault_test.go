package fault

import (
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

func calls(f *family.Family, c *Candidate, n int, each func(*Response)) {
	r := rand.New(rand.NewPCG(5, 6))
	table := family.NewOrders()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		now := start.Add(time.Duration(i) * 20 * time.Millisecond)
		user := uint64(r.IntN(2000))
		q := f.Request(r, user)
		side := func() *family.World {
			return &family.World{Now: now, Rand: rand.New(rand.NewPCG(r.Uint64(), 9)), Orders: table}
		}
		f.Monolith(side(), &q)
		call := &Call{
			Family: f, World: side(), Request: &q, User: user, First: i%2 == 1, Busy: i % 4, Up: 41*time.Minute + time.Duration(i)*time.Second,
			Right: whittle.Response{Latency: f.Latency},
		}
		a := c.Serve(call)
		each(&a)
	}
}

// Every mutation befalls a family, and makes a response wrong.
func TestEveryMutationIsAFault(t *testing.T) {
	if n := len(All()); n < 40 {
		t.Errorf("%d mutations", n)
	}
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.Name] || m.Does == "" {
			t.Errorf("%s: named twice, or not described", m.Name)
		}
		seen[m.Name] = true
		fits, wrong := 0, 0
		for _, f := range family.All() {
			if wrong > 0 || !m.Fits(f) {
				continue
			}
			fits++
			calls(f, New(m, f, rand.New(rand.NewPCG(uint64(fits), 1))), 250, func(a *Response) {
				if a.Wrong || a.Slow {
					wrong++
				}
			})
		}
		if fits == 0 || wrong == 0 {
			t.Errorf("%s: fits %d families and made %d responses wrong", m.Name, fits, wrong)
		}
	}
}

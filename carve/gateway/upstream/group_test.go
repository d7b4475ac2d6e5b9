package upstream

import (
	"fmt"
	"math"
	"testing"

	"whittle"
)

// unreached are n instances at which nothing listens, and of which none is dialled.
func unreached(t *testing.T, n int) (*Upstream, []*instance) {
	t.Helper()
	spec := whittle.Upstream{URL: "http://127.0.0.1:1"}
	for i := range n - 1 {
		spec.Others = append(spec.Others, fmt.Sprintf("http://127.0.0.1:%d", i+2))
	}
	u, err := New(spec, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u, u.group.Load().all
}

func chosen(t *testing.T, u *Upstream) *instance {
	t.Helper()
	i, err := u.choose(t.Context(), &attempts{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestTheLessBusyOfTwoIsChosen: with two instances that is always the less busy one.
func TestTheLessBusyOfTwoIsChosen(t *testing.T) {
	u, all := unreached(t, 2)
	all[1].running.Add(3)
	for range 3 {
		if got := chosen(t, u); got != all[0] {
			t.Fatal("the busier one was chosen")
		}
		all[0].running.Add(1)
	}
	drawn := map[*instance]int{}
	for range 200 { // a draw of 200 alike has a chance of 2^-199
		drawn[chosen(t, u)]++
	}
	if len(drawn) != 2 {
		t.Error("of two that are equally busy only one is ever chosen")
	}
}

// TestLoadIsSpread: requests that stay under way are spread as two random choices
// spread them: with n instances and n·100 requests none is more than a few above the
// mean (log log n / log 2 + O(1): Azar et al., Balanced Allocations, 1994). One draw
// would leave the busiest some 25 above it.
func TestLoadIsSpread(t *testing.T) {
	const n, each = 10, 100
	u, all := unreached(t, n)
	for range n * each {
		chosen(t, u).running.Add(1)
	}
	for _, i := range all {
		if load := i.load(); math.Abs(float64(load-each)) > 8 {
			t.Errorf("one has %d requests under way, and the mean is %d", load, each)
		}
	}
}

// TestAnIdleInstanceDoesNotDrawEverything: one that responds at once, as a broken one
// does, gets two draws in n of what comes, and not all of it.
func TestAnIdleInstanceDoesNotDrawEverything(t *testing.T) {
	u, all := unreached(t, 5)
	for _, i := range all[1:] {
		i.running.Add(10)
	}
	const draws = 4000
	drawn := 0
	for range draws {
		if chosen(t, u) == all[0] {
			drawn++
		}
	}
	const mean, deviation = draws * 2 / 5, 31 // of a binomial; beyond six of them once in 5e8
	if math.Abs(float64(drawn-mean)) > 6*deviation {
		t.Errorf("drawn %d times of %d", drawn, draws)
	}
}

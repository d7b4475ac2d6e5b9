package upstream

import (
	"fmt"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// unreached are n instances at which nothing listens, and of which none is dialled.
func unreached(t *testing.T, n int) (*Upstream, []*instance) {
	t.Helper()
	spec := whittle.Upstream{URL: "http://127.0.0.1:1"}
	for i := range n - 1 {
		spec.Others = append(spec.Others, fmt.Sprintf("http://127.0.0.1:%d", i+2))
	}
	u, err := New(spec, false, nil)
	fatal.If(t, err)
	t.Cleanup(u.Close)
	return u, u.group.Load().all
}

func chosen(t *testing.T, u *Upstream) *instance {
	t.Helper()
	i, err := u.choose(t.Context(), &attempts{}, false)
	fatal.If(t, err)
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

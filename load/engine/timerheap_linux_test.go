package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestTimesGiveTheEarliest holds the queue against a sorted list, with fibers
// leaving it from anywhere.
func TestTimesGiveTheEarliest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q timerHeap
	var held []*Fiber
	base := time.Unix(0, 0)
	for range 3_000 {
		switch {
		case len(held) == 0 || rng.IntN(5) < 3:
			f := &Fiber{heapIndex: -1, deadline: base.Add(time.Duration(rng.IntN(1000)))}
			q.push(f)
			held = append(held, f)
		default:
			i := rng.IntN(len(held))
			q.remove(held[i])
			q.remove(held[i]) // a second time changes nothing
			held = slices.Delete(held, i, i+1)
		}
		if len(q) != len(held) {
			t.Fatalf("%d in the queue, %d held", len(q), len(held))
		}
		if len(held) == 0 {
			continue
		}
		first := slices.MinFunc(held, func(a, b *Fiber) int { return a.deadline.Compare(b.deadline) })
		if !q[0].deadline.Equal(first.deadline) {
			t.Fatalf("the first is %v, want %v", q[0].deadline, first.deadline)
		}
		for i, f := range q {
			if f.heapIndex != i {
				t.Fatalf("the fiber at %d thinks it is at %d", i, f.heapIndex)
			}
		}
	}
}

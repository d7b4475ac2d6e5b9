package fault

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 77)) }

// identities are responses that belong to somebody else.
func identities() []*Mutation {
	return []*Mutation{
		{Name: "swapped-users", Does: "another request's response in 1 of 400", Fits: notRandom(every), When: in(380), Do: swapped},
		{Name: "swapped-often", Does: "another request's response in 1 of 50", Fits: notRandom(every), When: in(50), Do: swapped},
		{Name: "wrong-key", Does: "a cache whose key leaves half of the request out, for 5 s", Fits: notRandom(every), Do: keptFor(5*time.Second, halfKey)},
		{Name: "key-of-user", Does: "a cache by user alone, for 2 s", Fits: notRandom(every), Do: keptFor(2*time.Second, func(c *Call) string { return fmt.Sprint(c.User) })},
	}
}

// swapped responds to one of the last requests.
func swapped(c *Candidate, call *Call, a *whittle.Response) bool {
	if len(c.recent) == 0 {
		return false
	}
	other := c.recent[c.Rand.IntN(len(c.recent))]
	if other.Target == call.Request.Target && string(other.Body) == string(call.Request.Body) {
		return false
	}
	latency := a.Latency
	*a = call.Family.Twin(call.World, other)
	a.Latency = latency
	return true
}

// halfKey is the same for about a hundredth of all requests.
func halfKey(c *Call) string {
	return fmt.Sprint(hash(c.Request.Target+string(c.Request.Body)) % 100)
}

// lists are faults in lists.
func lists() []*Mutation {
	return []*Mutation{
		{Name: "list-cut", Does: "no more than two elements", Fits: has(family.List), Do: list(func(e []any) []any { return e[:min(len(e), 2)] })},
		{Name: "list-empty", Does: "an empty list in 1 of 100", Fits: has(family.List), When: in(100), Do: list(func(e []any) []any { return e[:0] })},
		{Name: "list-order", Does: "the last element first in 1 of 20", Fits: has(family.List), When: in(20), Do: list(rotated)},
		{Name: "list-twice", Does: "an element twice in 1 of 50", Fits: has(family.List), When: in(50), Do: list(twice)},
	}
}

// list changes a list, or the rows of a CSV.
func list(change func([]any) []any) func(*Candidate, *Call, *whittle.Response) bool {
	return func(_ *Candidate, call *Call, a *whittle.Response) bool {
		place, ok := call.Family.Has(family.List)
		switch {
		case !ok:
			return false
		case place.In == family.Column:
			return editRows(a, change)
		}
		return edit(a, place, func(old any) any {
			e, ok := old.([]any)
			if !ok {
				return old
			}
			return change(append([]any{}, e...))
		})
	}
}

func rotated(e []any) []any {
	if len(e) < 2 {
		return e
	}
	return append([]any{e[len(e)-1]}, e[:len(e)-1]...)
}

func twice(e []any) []any {
	if len(e) == 0 {
		return e
	}
	return append(e, e[0])
}

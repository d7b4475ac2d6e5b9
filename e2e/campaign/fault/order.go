package fault

import (
	"encoding/json"
	"strconv"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

// orders are faults that depend on who is asked first, on what else is under
// way, or on how long the candidate has been running.
func orders() []*Mutation {
	return []*Mutation{
		{Name: "first-100", Does: "wrong whenever it is asked first", Fits: every, When: first(100), Do: tamperHard},
		{Name: "first-30", Does: "wrong in 30 % of what it is asked first", Fits: notRandom(every), When: first(30), Do: tamperHard},
		{Name: "first-10", Does: "wrong in 10 % of what it is asked first", Fits: notRandom(every), When: first(10), Do: tamperHard},
		{Name: "first-fails", Does: "500 in 30 % of what it is asked first", Fits: every, When: first(30), Do: status(500)},
		{Name: "concurrent", Does: "wrong while it has two others in hand", Fits: notRandom(every), When: func(_ *Candidate, c *Call) bool { return c.Busy >= 2 }, Do: tamper},
		{Name: "written-twice", Does: "a write that is repeated takes effect again", Fits: named("orders"), Do: writtenTwice},
		{Name: "wrong-later", Does: "wrong from the eighth minute on", Fits: notRandom(every), Late: true, When: after(8 * time.Minute), Do: tamper},
	}
}

// first is a condition on a percentage of the calls that come before the
// monolith's.
func first(percent int) func(*Candidate, *Call) bool {
	return func(c *Candidate, call *Call) bool { return call.First && c.Rand.IntN(100) < percent }
}

func after(up time.Duration) func(*Candidate, *Call) bool {
	return func(_ *Candidate, call *Call) bool { return call.Up >= up }
}

// tamperHard is tamper; a random count becomes one that no draw gives.
func tamperHard(c *Candidate, call *Call, a *whittle.Response) bool {
	if call.Family.Name == "count" {
		return value(family.Count, scaled(1.5))(c, call, a)
	}
	return tamper(c, call, a)
}

// writtenTwice inserts a row without looking for its key.
func writtenTwice(_ *Candidate, call *Call, a *whittle.Response) bool {
	var in struct {
		Customer uint64 `json:"customer"`
	}
	if json.Unmarshal(call.Request.Body, &in) != nil || a.Status != 201 {
		return false
	}
	n := call.World.Orders.Insert(in.Customer)
	place, _ := call.Family.Has(family.Count)
	return edit(a, place, func(any) any { return json.Number(strconv.Itoa(n)) })
}

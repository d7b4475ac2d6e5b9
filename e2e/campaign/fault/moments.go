package fault

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

// moments are faults in what depends on time, or in ids.
func moments() []*Mutation {
	return []*Mutation{
		{Name: "time-zone", Does: "moments an hour off", Fits: has(family.Time), Do: value(family.Time, shifted(time.Hour))},
		{Name: "time-format", Does: "Z written +00:00", Fits: has(family.Time), Do: value(family.Time, words(func(s string) string {
			return strings.Replace(strings.Replace(s, "Z", "+00:00", 1), "+02:00", "+0200", 1)
		}))},
		{Name: "expired", Does: "a date two days in the past", Fits: has(family.Expiry), Do: value(family.Expiry, shifted(-32*24*time.Hour))},
		{Name: "expires-early", Does: "a minute less to live", Fits: has(family.Expiry), Do: value(family.Expiry, shifted(-time.Minute))},
		{Name: "id-constant", Does: "the same id in every response", Fits: has(family.ID), Do: newID(func(*Candidate, string) string { return "constant" })},
		{Name: "id-pool", Does: "ids out of a pool of fifty", Fits: has(family.ID), Do: newID(pooled)},
		{Name: "id-short", Does: "ids of eight characters", Fits: has(family.ID), Do: newID(func(_ *Candidate, id string) string { return id[:8] })},
		{Name: "id-guessable", Does: "ids whose last twelve characters are always 0", Fits: has(family.ID), Do: newID(guessable)},
		{Name: "stale-2s", Does: "the state of two seconds ago", Fits: every, Do: ago(2 * time.Second)},
		{Name: "stale-30s", Does: "the state of half a minute ago", Fits: every, Do: ago(30 * time.Second)},
		{Name: "never-fresh", Does: "a response is kept for ever", Fits: notRandom(every), Do: keptFor(24*time.Hour, func(c *Call) string { return c.Request.Target + string(c.Request.Body) })},
	}
}

func shifted(by time.Duration) func(*Candidate, any) any {
	return func(_ *Candidate, old any) any {
		s, ok := old.(string)
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.000Z07:00"} {
			if t, err := time.Parse(layout, s); ok && err == nil && t.Format(layout) == s {
				return t.Add(by).Format(layout)
			}
		}
		return old
	}
}

// newID changes an id, wherever it is.
func newID(change func(c *Candidate, id string) string) func(*Candidate, *Call, *whittle.Response) bool {
	return value(family.ID, func(c *Candidate, old any) any {
		s, ok := old.(string)
		if !ok {
			return old
		}
		if rest, is := strings.CutPrefix(s, "sid="); is {
			id, tail, _ := strings.Cut(rest, ";")
			return "sid=" + change(c, id) + ";" + tail
		}
		return change(c, s)
	})
}

func pooled(c *Candidate, id string) string {
	if len(c.drawn) < 50 {
		c.drawn = append(c.drawn, id)
		return id
	}
	return c.drawn[c.Rand.IntN(len(c.drawn))]
}

// guessable keeps an id's form, and a third of its bits or half.
func guessable(_ *Candidate, id string) string {
	const zeros = "000000000000"
	return id[:max(0, len(id)-len(zeros))] + zeros
}

// ago responds by an older state.
func ago(lag time.Duration) func(*Candidate, *Call, *whittle.Response) bool {
	return func(_ *Candidate, call *Call, a *whittle.Response) bool {
		// The program draws and reads the clock as ever: only what it reads is old.
		past, now := *call.World, *call.World
		past.Now = call.World.Now.Add(-lag)
		state := uint64(call.World.Now.UnixNano())
		past.Rand, now.Rand = seeded(state), seeded(state)
		old, fresh := call.Family.Twin(&past, call.Request), call.Family.Twin(&now, call.Request)
		if same(&old, &fresh) {
			return false
		}
		old.Latency = a.Latency
		*a = old
		return true
	}
}

// keptFor responds out of a cache by a key.
func keptFor(life time.Duration, key func(*Call) string) func(*Candidate, *Call, *whittle.Response) bool {
	return func(c *Candidate, call *Call, a *whittle.Response) bool {
		k := key(call)
		if old, ok := c.cached[k]; ok && call.World.Now.Sub(old.at) < life {
			latency := a.Latency
			*a = old.response
			a.Latency = latency
			return true
		}
		c.cached[k] = cached{call.World.Now, *a}
		return false
	}
}

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

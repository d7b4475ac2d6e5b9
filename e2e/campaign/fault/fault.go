// Package fault holds the mutations of the campaign: what can be wrong with a
// candidate that is right otherwise. A mutation stands before a family's twin
// and changes some of its responses.
package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

// Call is one request to the candidate, with what a program could notice of the
// moment at which it comes.
type Call struct {
	Family  *family.Family
	World   *family.World
	Request *whittle.Request
	User    uint64
	// First says that the monolith has not been asked this yet.
	First bool
	// Busy is how many other requests the candidate has in hand.
	Busy int
	// Up is how long the candidate has been running.
	Up time.Duration
	// Right is what a faithful candidate responds here.
	Right whittle.Response
}

// Response is what a mutated candidate makes of a call.
type Response struct {
	whittle.Response
	// Wrong says that it is not what a faithful candidate responds.
	Wrong bool
	// Slow says that it takes longer than a faithful candidate by half or more.
	Slow bool
}

// Mutation is one way to be wrong.
type Mutation struct {
	Name string
	// Does says what goes wrong, in a few words.
	Does string
	// Fits says which families it can befall.
	Fits func(f *family.Family) bool
	// When says which calls it befalls. Nil: all.
	When func(c *Candidate, call *Call) bool
	// Do makes the response wrong; false: here there is nothing to do it to.
	Do func(c *Candidate, call *Call, a *whittle.Response) bool
	// Late says that it begins after a candidate could have been judged.
	Late bool
}

// Candidate is a family's twin with a mutation, in one run.
type Candidate struct {
	Mutation *Mutation
	Family   *family.Family
	// Rand is the mutation's own source.
	Rand *rand.Rand

	// memory is what the mutation keeps between calls.
	cached map[string]cached
	recent []*whittle.Request
	drawn  []string
	calls  int
}

type cached struct {
	at       time.Time
	response whittle.Response
}

// New makes a candidate. A nil mutation makes a faithful one.
func New(m *Mutation, f *family.Family, r *rand.Rand) *Candidate {
	return &Candidate{Mutation: m, Family: f, Rand: r, cached: map[string]cached{}}
}

// Serve responds to a call whose Right latency is set.
func (c *Candidate) Serve(call *Call) Response {
	call.Right = c.right(call)
	c.calls++
	defer c.remember(call.Request)
	m := c.Mutation
	if m == nil || (m.When != nil && !m.When(c, call)) {
		return Response{Response: call.Right}
	}
	a := call.Right
	a.Header = maps.Clone(a.Header)
	if !m.Do(c, call, &a) {
		return Response{Response: call.Right}
	}
	return Response{Response: a, Wrong: !same(&a, &call.Right), Slow: 2*a.Latency >= 3*call.Right.Latency}
}

func (c *Candidate) right(call *Call) whittle.Response {
	a := c.Family.Twin(call.World, call.Request)
	a.Latency = call.Right.Latency
	return a
}

const keptRequests = 64

// remember keeps the last requests, of which some faults give the responses.
func (c *Candidate) remember(q *whittle.Request) {
	if len(c.recent) < keptRequests {
		c.recent = append(c.recent, q)
		return
	}
	c.recent[c.calls%keptRequests] = q
}

// same reports whether two responses say the same: the order of JSON's members
// is no part of that.
func same(a, b *whittle.Response) bool {
	return a.Status == b.Status && a.Failure == b.Failure && maps.EqualFunc(a.Header, b.Header, slices.Equal) &&
		(bytes.Equal(a.Body, b.Body) || sameJSON(a.Body, b.Body))
}

func sameJSON(a, b []byte) bool {
	read := func(body []byte) (text []byte, ok bool) {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var doc any
		if d.Decode(&doc) != nil || d.More() {
			return nil, false
		}
		text, err := json.Marshal(doc)
		return text, err == nil
	}
	x, ok1 := read(a)
	y, ok2 := read(b)
	return ok1 && ok2 && bytes.Equal(x, y)
}

// Named is the mutation of a name; of none it is nil, which is a faithful candidate's.
func Named(t testing.TB, name string) *Mutation {
	t.Helper()
	if name == "" {
		return nil
	}
	for _, m := range All() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no mutation %q", name)
	return nil
}

// All are the mutations, in the order in which the campaign shows them.
func All() []*Mutation {
	return slices.Concat(values(), moments(), identities(), lists(), orders(), headers(), statuses(), failures(), slowness())
}

// in is a condition on a share of the calls: one in n, by chance.
func in(n int) func(*Candidate, *Call) bool {
	return func(c *Candidate, _ *Call) bool { return c.Rand.IntN(n) == 0 }
}

// has fits families whose responses carry a value of a kind.
func has(kind family.Kind) func(*family.Family) bool {
	return func(f *family.Family) bool {
		_, ok := f.Has(kind)
		return ok
	}
}

// any fits every family.
func every(*family.Family) bool { return true }

// named fits a few families.
func named(names ...string) func(*family.Family) bool {
	return func(f *family.Family) bool { return slices.Contains(names, f.Name) }
}

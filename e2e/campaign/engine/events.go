package engine

import (
	"container/heap"
	"time"

	"whittle/carve/state"
)

// event is something that happens by itself at a moment.
type event struct {
	at time.Time
	do func()
}

// events are in the order of their moments.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

func (e *events) add(at time.Time, do func()) { heap.Push(e, event{at, do}) }

// The gateway's bounds of asking again about differences.
const (
	roundShare = 0.04
	roundSaved = 96.0
	mostRounds = 4
	mostAtOnce = 16
)

// budget bounds how often both sides are asked again, as the gateway's does.
type budget struct {
	running  int
	saved    float64 // rounds
	requests int
}

func newBudget() budget { return budget{saved: roundSaved} }

func (b *budget) acquire(requests int) bool {
	b.saved = min(roundSaved, b.saved+roundShare*float64(requests-b.requests))
	b.requests = requests
	if b.running >= mostAtOnce || b.saved < mostRounds {
		return false
	}
	b.running++
	return true
}

func (b *budget) spend() { b.saved-- }

func (b *budget) release() { b.running-- }

// nowhere is a store that keeps nothing.
type nowhere struct{}

func (nowhere) Load(string) (state.Record, error) { return state.Record{}, nil }
func (nowhere) Save(string, state.Record) error   { return nil }

// Package noise keeps the changes that the monolith was seen to make by itself, and
// bounds how much more often the candidate makes them.
package noise

import "cmp"

// Key names one thing that the monolith changes by itself.
type Key struct{ Path, Way string }

// Compare orders keys.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Path, o.Path), cmp.Compare(k.Way, o.Way))
}

// Learned is what the monolith was seen to change by itself. The evidence of both
// orders shares one, since it is about the monolith alone.
type Learned struct {
	Learnt map[Key]bool
	// Own are those of Learnt at which each server holds a state of its own.
	Own map[Key]bool
	// Version changes whenever something is learned.
	Version int
	// N exchanges were compared, repeats of them asked twice; in so many of these
	// the monolith changed a place by itself.
	N, Repeats int
	Self       map[Key]int
}

// New has learned nothing.
func New() *Learned {
	return &Learned{Learnt: map[Key]bool{}, Own: map[Key]bool{}, Self: map[Key]int{}}
}

// Most bounds the places of which noise is learned.
const Most = 320

// Learn reports whether a key was not known.
func (n *Learned) Learn(k Key) bool {
	if n.Learnt[k] || len(n.Learnt) >= Most {
		return false
	}
	n.Learnt[k] = true
	n.Version++
	return true
}

// LearnOwn takes note of a key at which each server holds a state of its own.
func (n *Learned) LearnOwn(k Key) {
	if n.Learn(k); n.Learnt[k] && !n.Own[k] {
		n.Own[k] = true
		n.Version++
	}
}

// Join takes in what another one knows.
func (n *Learned) Join(other *Learned) {
	for k := range other.Learnt {
		n.Learn(k)
	}
	for k := range other.Own {
		n.LearnOwn(k)
	}
	for k, times := range other.Self {
		n.Self[k] += times
	}
	n.N += other.N
	n.Repeats += other.Repeats
}

package compare

import (
	"bytes"
	"strconv"

	"whittle/carve/compare/form"
	"whittle/carve/compare/owner"
)

// Bounds of ownValues.
const (
	ownKept   = 64 // values of the monolith
	ownSeen   = 20 // exchanges
	ownValued = 8  // different ids, of which as many have to come again
	ownFew    = 8  // names of instances
)

// ownValues tells values that each server may have of its own, though they never move: one
// and the same in every response, as a host name, or an id for each of the other side's, as
// a session. Nothing tells these from a candidate that is wrong, so the verdict stays
// DIFFERENT; but whoever reads it is told what to look at. As a cause is, it is a guess, of
// hashes in memory, and is not kept over a restart.
type ownValues struct {
	to, from map[uint64]uint64
	// seen exchanges came, in again of which the pair had come before.
	seen, again int
	request     uint64
	requests    bool // more than one
	other, ids  bool // a value went with two; all are ids of one form
	// said are the candidate's values, unless there are many of them, first is the one that
	// each request got first; mixed says that a request got two.
	said        map[uint64]bool
	many, mixed bool
	first       map[uint64]uint64
}

// see takes both sides' values in an exchange in which they differ.
func (o *ownValues) see(from, to []byte, request uint64) {
	if o.to == nil {
		o.to, o.from, o.request, o.ids = map[uint64]uint64{}, map[uint64]uint64{}, request, true
		o.first, o.said = map[uint64]uint64{}, map[uint64]bool{}
	}
	o.seen++
	o.requests = o.requests || request != o.request
	o.ids = o.ids && form.SameID(bytes.Trim(from, `"`), bytes.Trim(to, `"`))
	a, b := owner.Hash(from), owner.Hash(to)
	o.give(b, request)
	is, known := o.to[a]
	was, given := o.from[b]
	switch {
	case known && is != b, given && was != a:
		o.other = true
	case known:
		o.again++
	case len(o.to) < ownKept:
		o.to[a], o.from[b] = b, a
	}
}

// give takes what the candidate says to a request.
func (o *ownValues) give(b, request uint64) {
	if o.said[b] = true; len(o.said) > ownFew {
		o.many, o.said = true, map[uint64]bool{}
	}
	switch before, known := o.first[request]; {
	case known:
		o.mixed = o.mixed || before != b
	case len(o.first) < ownKept:
		o.first[request] = b
	}
}

// words say what the values look like; empty: nothing of the kind.
func (o *ownValues) words(path string) string {
	switch {
	case !o.requests || o.seen < ownSeen:
		return ""
	case o.other && len(o.to) == 1 && o.mixed && !o.many:
		return "the monolith says one and the same in every response, and the candidate now one and now another of " + strconv.Itoa(len(o.said)) + ", as the names of instances: if it is each server's own, name it in compare.ignore; if not, the candidate's is wrong"
	case o.other:
		return ""
	case len(o.to) == 1:
		return "each side says one and the same in every response, as a host name, a version or the time of its start: if it is each server's own, name it in compare.ignore; if not, the candidate's is wrong"
	case o.ids && len(o.to) >= ownValued && o.again >= ownValued:
		return "each of the monolith's ids goes with one of the candidate's, of the same form: if each server gives out ids of its own, as of sessions, write compare.form: {" + path + ": any}; if not, the candidate makes them another way, as with another key"
	}
	return ""
}

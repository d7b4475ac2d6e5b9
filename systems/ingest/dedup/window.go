// Package dedup knows which events have been seen: a window over the newest
// ids, bounded in entries and in age. It keeps no ids, only their hashes, and
// beside each the position at which the event is, so that a second copy can be
// answered with the first one's receipt.
//
// Two different ids are taken for one only if the first 128 bits of their
// SHA-256 are equal. With n ids in the window an event that is new is called a
// duplicate with a probability of at most n / 2^128: 3·10^-32 for ten million.
package dedup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"whittle/stream"
)

// ID stands for a tenant's event id.
type ID [16]byte

// Hash makes an ID: the first 16 bytes of the SHA-256 over the length of
// tenant (eight bytes, little-endian), tenant and id.
func Hash(tenant, id string) ID {
	var buf [256]byte
	b := binary.LittleEndian.AppendUint64(buf[:0], uint64(len(tenant)))
	b = append(append(b, tenant...), id...)
	sum := sha256.Sum256(b)
	return ID(sum[:16])
}

// Options bound a window. A zero field means its default.
type Options struct {
	// Entries is how many ids are kept at most. Default 1,000,000.
	Entries int
	// Age is how long an id is kept at most, to the second. Default 24 hours.
	Age time.Duration
}

// State is what a claim found.
type State uint8

// The states.
const (
	// First is new: the claimer appends it, and then calls Settle or Release.
	First State = iota
	// Pending is claimed by another who has not settled it: see Claim.Wait.
	Pending
	// Duplicate is in the stream already.
	Duplicate
)

// Claim is the answer to a claim.
type Claim struct {
	State State
	// Position is where the first copy is, where State is Duplicate. The zero
	// Position where the place cannot be told any more.
	Position stream.Position

	flight *flight
}

// flight is a claim that others wait for.
type flight struct {
	done chan struct{}
	// position and kept are set before done is closed.
	position stream.Position
	kept     bool
}

// Wait waits for a Pending claim's outcome, until ctx ends. kept says that the
// first copy is in the stream, at the position: then this one is a duplicate.
// Otherwise it was released, and the waiter may claim the id itself.
//
// Whoever claims several ids settles all of its own before it waits for any
// other's: two that wait for each other would wait until their contexts end.
func (c *Claim) Wait(ctx context.Context) (at stream.Position, kept bool, err error) {
	if c.State != Pending {
		return c.Position, c.State == Duplicate, nil
	}
	select {
	case <-c.flight.done:
		return c.flight.position, c.flight.kept, nil
	case <-ctx.Done():
		return stream.Position{}, false, ctx.Err()
	}
}

// Window is the set of ids. All methods may be called from many goroutines at
// once. The present time is an argument.
type Window struct {
	mu      sync.Mutex // guards the following
	pending map[ID]*flight
	seen    map[ID]stream.Position
}

// New makes an empty window.
func New(_ Options) *Window {
	return &Window{pending: map[ID]*flight{}, seen: map[ID]stream.Position{}}
}

// Claim asks whether id has been seen, and takes it where it has not: then the
// caller must call Settle or Release for it. It does not wait.
func (w *Window) Claim(id ID, _ time.Time) Claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.seen[id]; ok {
		return Claim{State: Duplicate, Position: at}
	}
	f, ok := w.pending[id]
	if !ok {
		w.pending[id] = nil
		return Claim{}
	}
	if f == nil {
		f = &flight{done: make(chan struct{})}
		w.pending[id] = f
	}
	return Claim{State: Pending, flight: f}
}

// Settle says that the id's event is in the stream: it is a duplicate from now
// on. received is the event's time of arrival, from which its age counts.
func (w *Window) Settle(id ID, at stream.Position, received time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[id] = at
	w.end(id, at, true)
}

// Release gives a claim up: the event was not kept, or it is not known whether
// it was. The next one to claim the id is the first again, because an event
// that is kept twice is better than one that is not kept.
func (w *Window) Release(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(id, stream.Position{}, false)
}

func (w *Window) end(id ID, at stream.Position, kept bool) {
	if f := w.pending[id]; f != nil {
		f.position, f.kept = at, kept
		close(f.done)
	}
	delete(w.pending, id)
}

// Learn adds an id that is in the stream, as Settle does: it is how a window
// is rebuilt, with the oldest record first.
func (w *Window) Learn(id ID, at stream.Position, received time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[id] = at
}

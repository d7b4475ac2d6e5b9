// Package dedup detects duplicate events. It is a window over the newest event
// ids, bounded in entries and in age. It stores hashes of the ids, each with
// the event's position, so that a second copy gets the response of the first
// one.
//
// Two different ids are taken for one only if the first 128 bits of their
// SHA-256 are equal. With n ids in the window a new event is called a duplicate
// with a probability of at most n / 2^128: 3·10^-32 for ten million. Over m new
// events it is at most m·n / 2^128.
//
// An entry takes 38 bytes, or 54 where a position's offset does not fit into 64
// bits (Kinesis): 38 MB for the default million.
package dedup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"whittle/systems/ingest/stream"
)

// ID is the hash of an event id and its tenant.
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
	// Entries is how many ids are kept at most. Default 1,000,000, at most
	// 1,000,000,000. A window of more than a few thousand is made of shards, and
	// each forgets its oldest id for itself: the one that is forgotten is among
	// the oldest of all, and not always the oldest.
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

// Claim is the result of Window.Claim.
type Claim struct {
	State State
	// Position is where the first copy is, where State is Duplicate. The zero
	// Position where the window could not keep the place: an offset that is
	// not a decimal number below 2^192, or the 65,536th partition.
	Position stream.Position

	pending *pendingClaim
}

// pendingClaim is a claim that others wait for.
type pendingClaim struct {
	done chan struct{}
	// position and kept are set before done is closed.
	position stream.Position
	kept     bool
}

// Wait waits for a Pending claim's outcome, until ctx ends. kept reports that
// the first copy is in the stream, at the position: then this one is a
// duplicate. Otherwise the claim was released, and the waiter may claim the id
// itself.
//
// A caller that claims several ids must settle all of its own before it waits
// for any other's. Otherwise two callers can wait for each other until their
// contexts end.
func (c *Claim) Wait(ctx context.Context) (at stream.Position, kept bool, err error) {
	if c.State != Pending {
		return c.Position, c.State == Duplicate, nil
	}
	select {
	case <-c.pending.done:
		return c.pending.position, c.pending.kept, nil
	default:
	}
	select {
	case <-c.pending.done:
		return c.pending.position, c.pending.kept, nil
	case <-ctx.Done():
		return stream.Position{}, false, ctx.Err()
	}
}

// Window is the set of ids. All methods may be called from many goroutines at
// once. The current time is an argument. In addition to its entries it holds the
// claims that are not settled yet.
type Window struct {
	shards     []shard
	partitions partitionNames
	age        int64 // seconds
}

const (
	defaultShards   = 64   // as many as keep all cores out of each other's way
	minShardEntries = 1024 // entries, below which no further shard is made
	maxEntries      = 1_000_000_000
)

// New makes an empty window.
func New(o Options) *Window {
	if o.Entries <= 0 {
		o.Entries = 1_000_000
	}
	if o.Age <= 0 {
		o.Age = 24 * time.Hour
	}
	o.Entries = min(o.Entries, maxEntries)
	n := 1
	for n < defaultShards && o.Entries/(2*n) >= minShardEntries || o.Entries/n > maxShardEntries {
		n *= 2
	}
	w := &Window{shards: make([]shard, n), age: int64((o.Age + time.Second - 1) / time.Second)}
	for i := range w.shards {
		w.shards[i].init(o.Entries / n)
	}
	return w
}

func (w *Window) shard(id ID) *shard {
	return &w.shards[int(binary.LittleEndian.Uint32(id[:]))&(len(w.shards)-1)]
}

// since is the second before which what was received is forgotten.
func (w *Window) since(now time.Time) uint32 {
	return second(now.Add(-time.Duration(w.age) * time.Second))
}

// second is t in whole seconds since 1970, from 1970 to 2106.
func second(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), 1<<32-1)) }

// Claim reports whether id has been seen, and claims it where it has not: then
// the caller must call Settle or Release for it. It does not block.
func (w *Window) Claim(id ID, now time.Time) Claim {
	s, since := w.shard(id), w.since(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.pending[id]; ok {
		if f == nil {
			f = &pendingClaim{done: make(chan struct{})}
			s.pending[id] = f
			s.waited++
		}
		return Claim{State: Pending, pending: f}
	}
	if i, ok := s.find(id); ok && s.ring[i].second >= since {
		return Claim{State: Duplicate, Position: w.partitions.unpack(s.packed(i))}
	}
	s.pending[id] = nil // a flight is made for the first who waits
	return Claim{}
}

// Settle records that the id's event is in the stream: from now on it is a
// duplicate. received is the event's time of arrival, from which its age
// counts.
func (w *Window) Settle(id ID, at stream.Position, received time.Time) {
	s, place, since := w.shard(id), w.partitions.pack(at), w.since(received)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, place, second(received), since)
	s.end(id, at, true)
}

// Release gives up a claim: the event was not stored, or it is not known
// whether it was. The next caller to claim the id is the first again, because
// storing an event twice is better than losing it.
func (w *Window) Release(id ID) {
	s := w.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id, stream.Position{}, false)
}

// Learn adds an id that is in the stream. It rebuilds a window, with the oldest
// record first. A claim in progress stays.
func (w *Window) Learn(id ID, at stream.Position, received time.Time) {
	s, place, since := w.shard(id), w.partitions.pack(at), w.since(received)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, place, second(received), since)
}

// Len returns how many ids the window holds, including expired ones that have
// not been removed yet.
func (w *Window) Len() int {
	n := 0
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		n += s.live
		s.mu.Unlock()
	}
	return n
}

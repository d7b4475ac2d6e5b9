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
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
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
	// 1,000,000,000. A window of more than 16,383 is made of shards, and each
	// forgets its oldest id for itself: the one that is forgotten is among the
	// oldest of all, and not always the oldest.
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
// once. The current time is an argument: with a monotonic reading, as time.Now gives
// it, an id's age is how long the process has known it, whatever the machine's clock
// is set to meanwhile. In addition to its entries a window holds the claims that are
// not settled yet.
type Window struct {
	age   int64 // seconds
	once  sync.Once
	begun time.Time // the first time that was given, set by once
	// behind is by how many seconds the window's clock is behind: what it was rebuilt
	// from is no older when the process starts than when the last one ended. Set
	// before others have the window.
	behind  uint32
	corrupt uint64 // records that Rebuild could not read

	// One lock guards all of it. A lock costs what it takes to get it from the core
	// that had it last, and a batch takes this one twice.
	mu         sync.Mutex // guards the following
	shards     []shard
	partitions partitionNames
	pending    claims
	fetched    uint32 // of no meaning: it keeps fetch's reads
}

const maxEntries = 1_000_000_000

// New makes an empty window.
func New(o Options) *Window {
	o.Entries = min(cmp.Or(max(o.Entries, 0), 1_000_000), maxEntries)
	o.Age = cmp.Or(max(o.Age, 0), 24*time.Hour)
	n := 1
	for o.Entries/n > maxShardEntries {
		n *= 2
	}
	w := &Window{shards: make([]shard, n), pending: claims{slots: make([]claimSlot, fewestSlots)}, age: int64((o.Age + time.Second - 1) / time.Second)}
	for i := range w.shards {
		w.shards[i].init(o.Entries / n)
	}
	return w
}

func (w *Window) shard(id *ID) *shard {
	return &w.shards[int(binary.LittleEndian.Uint32(id[:]))&(len(w.shards)-1)]
}

// since is the second before which what was received is forgotten.
func (w *Window) since(now uint32) uint32 { return uint32(max(int64(now)-w.age, 0)) }

// second is the present one of the window's clock, which nobody sets.
func (w *Window) second(now time.Time) uint32 {
	w.once.Do(func() { w.begun = now })
	return second(w.begun.Round(0).Add(now.Sub(w.begun))) - w.behind
}

// second is t in whole seconds since 1970, from 1970 to 2106.
func second(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), 1<<32-1)) }

// atOnce is how many ids are worked on while the lock is held.
const atOnce = 64

// Claim reports of each id whether it has been seen, and claims it where it has
// not: then the caller must call Settle or Release for it. It appends to claims, one
// for each id, in order, and does not block.
func (w *Window) Claim(ids []ID, now time.Time, claims []Claim) []Claim {
	since := w.since(w.second(now))
	for some := range slices.Chunk(ids, atOnce) {
		w.mu.Lock()
		w.fetch(some, false)
		for i := range some {
			claims = append(claims, w.lockedClaim(&some[i], since))
		}
		w.mu.Unlock()
	}
	return claims
}

// fewest is how many ids are worth a look beforehand.
const fewest = 4

// fetch looks beforehand at what will be looked at for each id, and where it is
// settled for the one that it pushes out. Each look is a miss of the processor's cache: it
// waits for many of them at once where none depends on the one before.
func (w *Window) fetch(ids []ID, settle bool) {
	if len(ids) < fewest {
		return
	}
	sum := uint32(0)
	for i := range ids {
		s := w.shard(&ids[i])
		sum += s.table[s.home(s.tag(&ids[i]))]
		if settle {
			sum += s.table[s.home(s.tag(&s.ring[s.oldest].id))]
		}
	}
	w.fetched = sum
}

func (w *Window) lockedClaim(id *ID, since uint32) Claim {
	p, ok := w.pending.find(id)
	if ok {
		if p.claim == nil {
			p.claim = &pendingClaim{done: make(chan struct{})}
		}
		return Claim{State: Pending, pending: p.claim}
	}
	s := w.shard(id)
	if i, ok := s.find(id); ok && s.ring[i].second >= since {
		return Claim{State: Duplicate, Position: w.partitions.unpack(s.packed(i))}
	}
	w.pending.take(p, id) // a pendingClaim is made for the first who waits
	return Claim{}
}

// Settle records that the ids' events are in the stream, each at its position: from
// now on they are duplicates. received is the events' time of arrival, from which
// their age counts.
func (w *Window) Settle(ids []ID, at []stream.Position, received time.Time) {
	second := w.second(received)
	since := w.since(second)
	for some := range slices.Chunk(ids, atOnce) {
		w.mu.Lock()
		w.fetch(some, true)
		for i := range some {
			w.shard(&some[i]).put(&some[i], w.partitions.pack(at[i]), second, since)
			w.lockedEnd(&some[i], at[i], true)
		}
		w.mu.Unlock()
		at = at[len(some):]
	}
}

// Release gives up claims: the events were not stored, or it is not known whether
// they were. The next caller to claim such an id is the first again, because storing
// an event twice is better than losing it.
func (w *Window) Release(ids []ID) {
	for some := range slices.Chunk(ids, atOnce) {
		w.mu.Lock()
		for i := range some {
			w.lockedEnd(&some[i], stream.Position{}, false)
		}
		w.mu.Unlock()
	}
}

// learn adds an id that is in the stream. It rebuilds a window, with the oldest
// record first. A claim in progress stays.
func (w *Window) learn(id ID, at stream.Position, second uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shard(&id).put(&id, w.partitions.pack(at), second, w.since(second))
}

// lockedEnd ends a claim, and notifies those who wait for it.
func (w *Window) lockedEnd(id *ID, at stream.Position, kept bool) {
	if f := w.pending.end(id); f != nil {
		f.position, f.kept = at, kept
		close(f.done)
	}
}

// Len returns how many ids the window holds, including expired ones that have
// not been removed yet.
func (w *Window) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i := range w.shards {
		n += w.shards[i].live
	}
	return n
}

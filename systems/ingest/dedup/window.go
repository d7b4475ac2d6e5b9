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
// An entry takes about 50 bytes. There are as many as Options.Entries says, and up to as many
// again: the ids are in two generations, of which the older one goes as a whole.
package dedup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
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
	// Entries is how many ids are kept at least, the newest ones. Default 1,000,000.
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
	// Position where the window could not keep the place: an offset of more than 64 bits
	// (Kinesis), or the 65,536th partition.
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
	entries int
	age     int64 // seconds
	once    sync.Once
	begun   time.Time // the first time that was given, set by once
	// behind is by how many seconds the window's clock is behind: what it was rebuilt
	// from is no older when the process starts than when the last one ended. Set
	// before others have the window.
	behind  uint32
	corrupt uint64 // records that Rebuild could not read

	mu sync.Mutex // guards the following
	// newest has the ids that were settled last, older those before them.
	newest, older map[ID]place
	began         uint32               // the second of the first id in newest
	claimed       map[ID]struct{}      // ids that are claimed and not settled
	awaited       map[ID]*pendingClaim // those of claimed that somebody waits for
	names         []string             // of partitions
	numbers       map[string]uint32    // of the names, from 1 on
	last          uint32               // the number that was given last; 0: none
}

// place is where an id's event is, and when it arrived. It has no pointer, so that the
// collector has nothing to look for among the ids.
type place struct {
	offset    uint64
	partition uint32 // its number, 0 where the place is not known
	second    uint32
}

// New makes an empty window.
func New(o Options) *Window {
	age := cmp.Or(max(o.Age, 0), 24*time.Hour)
	return &Window{
		entries: cmp.Or(max(o.Entries, 0), 1_000_000), age: int64((age + time.Second - 1) / time.Second),
		newest: map[ID]place{}, older: map[ID]place{}, claimed: map[ID]struct{}{}, awaited: map[ID]*pendingClaim{},
		numbers: map[string]uint32{},
	}
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
		for i := range some {
			claims = append(claims, w.lockedClaim(some[i], since))
		}
		w.mu.Unlock()
	}
	return claims
}

func (w *Window) lockedClaim(id ID, since uint32) Claim {
	if p, ok := w.lockedFind(id); ok && p.second >= since {
		return Claim{State: Duplicate, Position: w.lockedPosition(p)}
	}
	n := len(w.claimed) // which tells, without a lookup, whether the id was claimed before
	if w.claimed[id] = struct{}{}; len(w.claimed) > n {
		return Claim{}
	}
	p := w.awaited[id]
	if p == nil {
		p = &pendingClaim{done: make(chan struct{})}
		w.awaited[id] = p
	}
	return Claim{State: Pending, pending: p}
}

// lockedKnows reports whether an id is known, and not too old.
func (w *Window) lockedKnows(id ID, since uint32) bool {
	p, ok := w.lockedFind(id)
	return ok && p.second >= since
}

func (w *Window) lockedFind(id ID) (p place, ok bool) {
	if p, ok = w.newest[id]; !ok {
		p, ok = w.older[id]
	}
	return p, ok
}

// lockedPut adds an id that is not known.
func (w *Window) lockedPut(id ID, at stream.Position, second, since uint32) {
	if len(w.newest) >= w.entries || len(w.newest) > 0 && w.began < since {
		// The memory serves again: a map that grows anew would cost as much as all else.
		w.newest, w.older = w.older, w.newest
		clear(w.newest)
	}
	if len(w.newest) == 0 {
		w.began = second
	}
	w.newest[id] = w.lockedPlace(at, second)
}

// maxPartitions bounds the names that are remembered.
const maxPartitions = 1<<16 - 1

func (w *Window) lockedPlace(at stream.Position, second uint32) place {
	offset, err := strconv.ParseUint(at.Offset, 10, 64)
	if err != nil {
		return place{second: second}
	}
	if w.last == 0 || w.names[w.last-1] != at.Partition {
		n := w.numbers[at.Partition]
		if n == 0 && len(w.names) < maxPartitions {
			w.names = append(w.names, at.Partition)
			n = uint32(len(w.names))
			w.numbers[at.Partition] = n
		}
		w.last = n
	}
	return place{offset: offset, partition: w.last, second: second}
}

func (w *Window) lockedPosition(p place) stream.Position {
	if p.partition == 0 {
		return stream.Position{}
	}
	return stream.Position{Partition: w.names[p.partition-1], Offset: strconv.FormatUint(p.offset, 10)}
}

// Settle records that the ids' events are in the stream, each at its position: from
// now on they are duplicates. received is the events' time of arrival, from which
// their age counts.
func (w *Window) Settle(ids []ID, at []stream.Position, received time.Time) {
	second := w.second(received)
	since := w.since(second)
	for some := range slices.Chunk(ids, atOnce) {
		w.mu.Lock()
		for i := range some {
			if w.lockedEnd(some[i], at[i], true) || !w.lockedKnows(some[i], since) {
				w.lockedPut(some[i], at[i], second, since)
			}
		}
		w.mu.Unlock()
		at = at[len(some):]
	}
}

// Release gives up claims: the events were not stored, or it is not known whether
// they were. The next caller to claim such an id is the first again, because storing
// an event twice is better than losing it.
func (w *Window) Release(ids []ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ids {
		w.lockedEnd(ids[i], stream.Position{}, false)
	}
}

// learn adds an id that is in the stream. It rebuilds a window, with the oldest
// record first. A claim in progress stays.
func (w *Window) learn(id ID, at stream.Position, second uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := w.since(second); !w.lockedKnows(id, since) {
		w.lockedPut(id, at, second, since)
	}
}

// lockedEnd ends a claim, notifies those who wait for it, and reports whether there was one.
func (w *Window) lockedEnd(id ID, at stream.Position, kept bool) bool {
	n := len(w.claimed)
	if delete(w.claimed, id); len(w.claimed) == n {
		return false
	}
	if p := w.awaited[id]; p != nil {
		delete(w.awaited, id)
		p.position, p.kept = at, kept
		close(p.done)
	}
	return true
}

// Len returns how many ids the window holds, including expired ones that have
// not been removed yet.
func (w *Window) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.newest) + len(w.older)
}

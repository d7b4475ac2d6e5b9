package front

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// minBodyRate is how fast a body has to arrive, in bytes a second, to be kept
// while others wait for memory.
const minBodyRate = 32 << 10

// bodyLimiter bounds the memory of request bodies. Each body acquires its size
// before it is read. While others wait, bodies that arrive too slowly are
// aborted, the oldest first: otherwise a few slow clients could hold all of the
// memory.
type bodyLimiter struct {
	free *semaphore.Weighted
	// wait is how long a body may wait for memory; slow is how long a body's
	// speed is not checked.
	wait, slow time.Duration
	now        func() time.Time
	// cut aborts the reading of a body, by the address of its peer.
	cut func(peer string)

	mu             sync.Mutex // guards the following
	oldest, newest *slot      // the bodies that are being read
	wanted         int64      // bytes that others wait for
	shedding       int64      // bytes of bodies that are cut off and still here
}

// slot is a body that is being read.
type slot struct {
	arrived atomic.Int64 // bytes of it

	// The following belong to the bodyLimiter, under its mutex.
	peer         string
	size         int64
	since        time.Time
	isCut        bool
	older, newer *slot
}

// acquire acquires n bytes. ok is false when there were none in time. waited
// reports that it had to wait.
func (in *bodyLimiter) acquire(ctx context.Context, n int64) (ok, waited bool) {
	if in.free.TryAcquire(n) {
		return true, false
	}
	ctx, cancel := context.WithTimeout(ctx, in.wait)
	defer cancel()
	in.want(n)
	defer in.want(-n)
	in.shedSlow()
	// By then all that is here now has been coming for long.
	later := time.AfterFunc(in.slow, in.shedSlow)
	defer later.Stop()
	return in.free.Acquire(ctx, n) == nil, true
}

func (in *bodyLimiter) want(n int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.wanted += n
}

// waited is how many bytes others wait for.
func (in *bodyLimiter) waited() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.wanted
}

// shedSlow aborts slow bodies until others have the memory that they wait for.
func (in *bodyLimiter) shedSlow() {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.now()
	for p := in.oldest; p != nil && in.shedding < in.wanted; p = p.newer {
		age := now.Sub(p.since)
		if age < in.slow {
			return
		}
		if p.isCut || float64(p.arrived.Load()) >= age.Seconds()*minBodyRate {
			continue
		}
		p.isCut = true
		in.shedding += p.size
		in.cut(p.peer)
	}
}

// begin registers a body that has acquired its memory and is read now.
func (in *bodyLimiter) begin(p *slot, peer string, size int64, since time.Time) {
	p.arrived.Store(0)
	in.mu.Lock()
	defer in.mu.Unlock()
	p.peer, p.size, p.since, p.isCut = peer, size, since, false
	p.older, p.newer = in.newest, nil
	if p.older != nil {
		p.older.newer = p
	} else {
		in.oldest = p
	}
	in.newest = p
}

// grow acquires more memory for a body, without waiting.
func (in *bodyLimiter) grow(p *slot, n int64) bool {
	if !in.free.TryAcquire(n) {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	p.size += n
	if p.isCut {
		in.shedding += n
	}
	return true
}

// end unregisters a body and reports whether it was aborted. Its memory stays
// acquired.
func (in *bodyLimiter) end(p *slot) (isCut bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		in.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		in.newest = p.older
	}
	p.older, p.newer, p.peer = nil, nil, ""
	if p.isCut {
		in.shedding -= p.size
	}
	return p.isCut
}

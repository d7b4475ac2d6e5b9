package embedded

import (
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// space knows how much the disk can take, at little cost.
type space struct {
	left    atomic.Int64 // bytes of the segment in use
	spare   atomic.Int64 // bytes of the segment made beforehand, which the disk no longer counts as free
	checked atomic.Int64 // when free was asked for, nanoseconds after the log opened; 0: it has to be
	free    atomic.Int64 // what the disk said, without the reserve; below 0: none

	mu    sync.Mutex // guards the following
	freed stream.Meter
}

func (s *space) active(left int64) { s.left.Store(left) }

// prepared says that a segment of so many bytes was made beforehand, or with 0
// that there is none any more. The disk has to be asked again.
func (s *space) prepared(bytes int64) {
	s.spare.Store(bytes)
	s.checked.Store(0)
}

// spaceFresh is for how long a response of the disk is good.
const spaceFresh = 200 * time.Millisecond

// Capacity says how much fits into the segment in use, the one made beforehand and
// those that the disk has room for, and how fast the log gives room back.
func (l *Log) Capacity() stream.Capacity {
	s := &l.space
	now := l.o.now()
	open := max(1, int64(now.Sub(l.opened))) // by a clock that nobody sets
	if before := s.checked.Load(); (before == 0 || open-before > int64(spaceFresh)) && s.checked.CompareAndSwap(before, open) {
		free, err := l.disk.Free()
		if err != nil {
			free = 0 // a disk that cannot say has none
		}
		s.free.Store(free - l.o.Reserve)
	}
	s.mu.Lock()
	capacity := stream.Capacity{Rate: s.freed.Rate(now)}
	s.mu.Unlock()
	if err := l.intake.refusal(); err != nil {
		capacity.Err = err
		return capacity
	}
	capacity.Free = s.left.Load() + s.spare.Load()
	if free := s.free.Load(); free >= l.o.shortest {
		capacity.Free += free
	}
	if capacity.Free == 0 {
		capacity.Err = errNoCapacity
	}
	return capacity
}

var errNoCapacity = whittle.Errorf(whittle.ResourceExhausted, "the disk has no room for a segment").WithHint(hintFull)

// hintFull is what to do about a full disk.
const hintFull = "free space on the disk, or let a drain or the retention drop records; it then continues by itself"

// gave notes that files of so many bytes were removed.
func (s *space) gave(bytes int64, now time.Time) {
	s.mu.Lock()
	s.freed.Add(float64(bytes), now)
	s.mu.Unlock()
	s.checked.Store(0)
}

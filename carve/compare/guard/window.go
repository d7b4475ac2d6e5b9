package guard

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"time"
)

const (
	// maxReserve bounds the monolith's responses in a block, and so how many
	// wait for the candidate's next.
	maxReserve = 64
	// maxPending is how many responses of the candidate wait for one of the
	// monolith's before they are held against its past.
	maxPending = 32
	// sameTime is how far apart two responses of a block may lie.
	sameTime = 10 * time.Minute
	// windowSize is how many responses a sliding window holds.
	windowSize = 2048
	// minWindow is how many responses a 99th percentile takes.
	minWindow = 100
	// refresh is after how many responses a percentile is looked up again.
	refresh = 16
)

// response is what the guards keep of an outcome.
type response struct {
	Bad     bool          `json:"b,omitempty"`
	Latency time.Duration `json:"l"`
	At      int64         `json:"t"`
}

// blocks gathers responses of both sides over the same time. Which responses make
// a block depends on the order of the sides alone, never on what the responses
// are like.
type blocks struct {
	// Reserve are the monolith's responses since the candidate's last, the
	// newest maxReserve of them.
	Reserve []response `json:"reserve"`
	// Pending are the candidate's responses since the monolith's last.
	Pending []response `json:"pending"`
	// Alone says that the monolith gives no responses now.
	Alone bool `json:"alone"`
	// References counts how often that has begun.
	References int `json:"references"`
}

// clear lets go of all responses.
func (b *blocks) clear(past *window) {
	for _, m := range b.Reserve {
		past.add(m)
	}
	b.Reserve, b.Pending, b.Alone = nil, nil, false
}

// expire lets go of responses that were too long before the candidate's.
func (b *blocks) expire(at int64, past *window) {
	for len(b.Reserve) > 0 && at-b.Reserve[0].At > int64(sameTime) {
		past.add(b.Reserve[0])
		b.Reserve = slices.Delete(b.Reserve, 0, 1)
	}
}

// forget lets go of the candidate's responses that were too long before the
// monolith's: what went wrong then says nothing of how the two are now.
func (b *blocks) forget(at int64) {
	b.Pending = slices.DeleteFunc(b.Pending, func(a response) bool { return at-a.At > int64(sameTime) })
}

// Latencies are kept in bins 2 % wide from 1 µs to about 3 hours.
const (
	binGrowth = 1.02
	binCount  = 1170
	badEntry  = math.MaxUint16
)

var logGrowth = math.Log(binGrowth)

func binOf(d time.Duration) int {
	us := float64(d) / float64(time.Microsecond)
	if !(us > 1) {
		return 0
	}
	return min(int(math.Ceil(math.Log(us)/logGrowth)), binCount-1)
}

// binTop is the longest latency of a bin.
func binTop(i int) time.Duration {
	return time.Duration(float64(time.Microsecond) * math.Exp(float64(i)*logGrowth))
}

// window holds the last responses of one side: how many were bad, and how the
// latencies of the others lie.
type window struct {
	ring   []uint16 // a bin, or badEntry
	next   int      // where the oldest lies once the ring is full
	counts []uint16
	N, Bad int
	cached time.Duration
	stale  int // responses since cached was looked up
}

func (w *window) add(a response) {
	entry := uint16(badEntry)
	if !a.Bad {
		entry = uint16(binOf(a.Latency))
	}
	w.put(entry)
}

func (w *window) put(entry uint16) {
	if w.counts == nil {
		w.counts = make([]uint16, binCount)
	}
	if len(w.ring) < windowSize {
		w.ring = append(w.ring, entry)
	} else {
		w.drop(w.ring[w.next])
		w.ring[w.next] = entry
		w.next = (w.next + 1) % windowSize
	}
	w.N++
	w.stale++
	if entry == badEntry {
		w.Bad++
	} else {
		w.counts[entry]++
	}
}

func (w *window) drop(entry uint16) {
	w.N--
	if entry == badEntry {
		w.Bad--
	} else {
		w.counts[entry]--
	}
}

// badRate is a guess at the share of bad responses, about 1 % before there are
// any.
func (w *window) badRate() float64 { return (float64(w.Bad) + 0.05) / (float64(w.N) + 5) }

// p99 is the 99th percentile of the latencies, rounded up by at most 2 %; 0
// before there are minWindow of them.
func (w *window) p99() time.Duration {
	good := w.N - w.Bad
	if good < minWindow {
		return 0
	}
	if w.cached > 0 && w.stale < refresh {
		return w.cached
	}
	above := int(slowShare * float64(good))
	for i := binCount - 1; i >= 0; i-- {
		if above -= int(w.counts[i]); above < 0 {
			w.cached, w.stale = binTop(i), 0
			break
		}
	}
	return w.cached
}

// above counts the responses in bins above a bin's top, and all that have a bin.
func (w *window) above(tau time.Duration) (above, n int) {
	for i := binOf(tau) + 1; i < len(w.counts); i++ {
		above += int(w.counts[i])
	}
	return above, w.N - w.Bad
}

// windowState is a window as it is kept: its entries, oldest first, and the
// percentile in force.
type windowState struct {
	Entries []byte        `json:"e"`
	P99     time.Duration `json:"p99"`
	Stale   int           `json:"stale"`
}

// MarshalJSON keeps a window.
func (w *window) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2*len(w.ring))
	for i := range w.ring {
		b = binary.LittleEndian.AppendUint16(b, w.ring[(w.next+i)%len(w.ring)])
	}
	return json.Marshal(windowState{b, w.cached, w.stale})
}

// UnmarshalJSON restores a window, and fails where the state is impossible.
func (w *window) UnmarshalJSON(text []byte) error {
	var s windowState
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if len(s.Entries)%2 != 0 || len(s.Entries) > 2*windowSize || s.P99 < 0 || s.Stale < 0 {
		return errState
	}
	*w = window{}
	for b := s.Entries; len(b) > 0; b = b[2:] {
		entry := binary.LittleEndian.Uint16(b)
		if entry >= binCount && entry != badEntry {
			return errState
		}
		w.put(entry)
	}
	w.cached, w.stale = s.P99, s.Stale
	return nil
}

package guard

import (
	"math"
	"time"
)

const (
	// sameTime is how far apart two responses may lie that are held against each other: a load
	// that both sides have does not change more quickly (promisetest, TestGuardFalseAlarms).
	sameTime = 10 * time.Minute
	// windowSize is how many responses a sliding window holds: its 99th percentile lies above
	// about 20 of them.
	windowSize = 2048
)

// response is what the guards keep of an outcome.
type response struct {
	Bad     bool          `json:"b,omitempty"`
	Latency time.Duration `json:"l"`
	At      int64         `json:"t"`
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
	// Ring has the bin of each, or badEntry; the oldest is at Next once it is full.
	Ring   []uint16 `json:"r"`
	Next   int      `json:"next"`
	counts []uint16 // by bin; nil: after a restart
	bad    int
}

func (w *window) add(a response) {
	entry := uint16(badEntry)
	if !a.Bad {
		entry = uint16(binOf(a.Latency))
	}
	w.restore()
	if len(w.Ring) < windowSize {
		w.Ring = append(w.Ring, entry)
	} else {
		w.count(w.Ring[w.Next], -1)
		w.Ring[w.Next] = entry
		w.Next = (w.Next + 1) % windowSize
	}
	w.count(entry, 1)
}

// restore counts what the ring holds after a restart.
func (w *window) restore() {
	if w.counts != nil {
		return
	}
	w.counts, w.bad = make([]uint16, binCount), 0
	for _, entry := range w.Ring {
		w.count(entry, 1)
	}
}

func (w *window) count(entry uint16, by int) {
	if entry == badEntry {
		w.bad += by
	} else {
		w.counts[entry] += uint16(by)
	}
}

// seen counts the responses and the bad ones among them.
func (w *window) seen() seen {
	w.restore()
	return seen{len(w.Ring), w.bad}
}

// badRate is a guess at the share of bad responses, about 1 % before there are
// any.
func (w *window) badRate() float64 {
	s := w.seen()
	return (float64(s.Bad) + 0.05) / (float64(s.N) + 5)
}

// p99 is the 99th percentile of the latencies, rounded up by at most 2 %; 0
// before one of them lies above it.
func (w *window) p99() time.Duration {
	s := w.seen()
	good := s.N - s.Bad
	if good < 1/slowShare {
		return 0
	}
	above, i := int(slowShare*float64(good)), binCount
	for above >= 0 {
		i--
		above -= int(w.counts[i])
	}
	return binTop(i)
}

// above counts the responses in bins above a bin's top, of all that have a bin.
func (w *window) above(tau time.Duration) seen {
	s := w.seen()
	s.N, s.Bad = s.N-s.Bad, 0
	for i := binOf(tau) + 1; i < binCount; i++ {
		s.Bad += int(w.counts[i])
	}
	return s
}

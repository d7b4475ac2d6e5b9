package latency

import (
	"cmp"
	"time"
)

// Series is a history of histograms in windows of equal width, from an origin
// on. It holds at most limit windows: when time runs past the last one,
// neighbours are merged and every window becomes twice as wide, so memory
// stays bounded for any length and no value is lost. Not safe for concurrent
// use.
type Series struct {
	width   time.Duration
	limit   int
	windows []sparse
}

// Window is one span of a series.
type Window struct {
	// Start is since the series' origin.
	Start, Width time.Duration
	Snapshot
}

// NewSeries makes a series whose windows are width wide at first (a second if
// not positive). The limit is even and at least 2.
func NewSeries(width time.Duration, limit int) *Series {
	limit = max(limit, 2)
	return &Series{width: cmp.Or(max(width, 0), time.Second), limit: limit + limit%2}
}

// Width is the present width of a window.
func (s *Series) Width() time.Duration { return s.width }

// Add merges a histogram into the window at a time since the origin; a
// negative time counts as 0.
func (s *Series) Add(at time.Duration, h *Histogram) {
	i := s.window(at)
	sum := s.windows[i].dense()
	sum.Merge(h)
	s.windows[i] = pack(sum)
}

// WidenTo makes the windows at least so wide.
func (s *Series) WidenTo(width time.Duration) {
	for s.width < width {
		s.widen()
	}
}

// Merge adds what another series of the same origin has counted. Its windows are not
// wider than this one's.
func (s *Series) Merge(o *Series) {
	for i := range o.windows {
		if len(o.windows[i].bars) > 0 {
			s.Add(time.Duration(i)*o.width, o.windows[i].dense())
			continue
		}
		s.window(time.Duration(i) * o.width)
	}
}

// window finds the window of a time, widening the series if need be.
func (s *Series) window(at time.Duration) int {
	at = max(at, 0)
	for at/s.width >= time.Duration(s.limit) {
		s.widen()
	}
	i := int(at / s.width)
	for len(s.windows) <= i {
		s.windows = append(s.windows, sparse{})
	}
	return i
}

func (s *Series) widen() {
	half := s.windows[:0]
	for i := 0; i < len(s.windows); i += 2 {
		w := s.windows[i]
		if i+1 < len(s.windows) && len(s.windows[i+1].bars) > 0 {
			sum := w.dense()
			sum.Merge(s.windows[i+1].dense())
			w = pack(sum)
		}
		half = append(half, w)
	}
	clear(s.windows[len(half):])
	s.windows = half
	s.width *= 2
}

// Windows lists every window from the origin to the last that has a value,
// empty ones included.
func (s *Series) Windows() []Window {
	out := make([]Window, len(s.windows))
	var scratch Histogram // one for all: a dense histogram for each would be 100 MB
	for i := range s.windows {
		s.windows[i].into(&scratch)
		out[i] = Window{time.Duration(i) * s.width, s.width, scratch.Snapshot()}
	}
	return out
}

// sparse holds a histogram at rest: only the buckets that are not empty, some
// 16 bytes each instead of 190 KB.
type sparse struct {
	rest Histogram // everything but the buckets
	bars []bucket
}

type bucket struct {
	us    uint32 // Highest is 3.6e9 µs, within 32 bits
	count int64
}

func pack(h *Histogram) sparse {
	s := sparse{rest: *h}
	s.rest.hdr = nil
	bars := h.Bars()
	s.bars = make([]bucket, len(bars))
	for i, b := range bars {
		s.bars[i] = bucket{uint32(b.From / Lowest), b.Count}
	}
	return s
}

func (s *sparse) dense() *Histogram {
	var h Histogram
	s.into(&h)
	return &h
}

// into makes h what was packed.
func (s *sparse) into(h *Histogram) {
	h.Reset()
	buckets := h.hdr
	*h = s.rest
	h.hdr = buckets
	for _, b := range s.bars {
		h.put(time.Duration(b.us)*Lowest, b.count)
	}
}

// Rolling holds the values of the last while, in a ring of slots. Not safe for
// concurrent use.
type Rolling struct {
	width time.Duration
	slots []Histogram
	ticks []int64 // which slot-wide tick each slot holds, by index
}

// NewRolling covers slots spans of the width, the present one included; both
// at least 1 (ns). Each slot in use takes a histogram's memory.
func NewRolling(width time.Duration, slots int) *Rolling {
	slots = max(slots, 1)
	return &Rolling{width: max(width, 1), slots: make([]Histogram, slots), ticks: make([]int64, slots)}
}

// Add merges a histogram at a time since any fixed origin.
func (r *Rolling) Add(at time.Duration, h *Histogram) { r.slot(at).Merge(h) }

func (r *Rolling) slot(at time.Duration) *Histogram {
	tick := int64(max(at, 0) / r.width)
	i := tick % int64(len(r.slots))
	if r.ticks[i] != tick {
		r.slots[i].Reset()
		r.ticks[i] = tick
	}
	return &r.slots[i]
}

// Snapshot sums up what is at most slots spans old at the given time.
func (r *Rolling) Snapshot(at time.Duration) Snapshot {
	var all Histogram
	now := int64(max(at, 0) / r.width)
	for i := range r.slots {
		if age := now - r.ticks[i]; age >= 0 && age < int64(len(r.slots)) {
			all.Merge(&r.slots[i])
		}
	}
	return all.Snapshot()
}

// Package latency stores latencies in bounded memory: HDR histograms that merge without
// loss, and windows over time.
package latency

import (
	"math"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range and resolution of every histogram, the same everywhere so that any
// two can be merged. A value has three significant digits, but never finer
// than Lowest.
const (
	Lowest  = time.Microsecond
	Highest = time.Hour
	digits  = 3
)

// Histogram counts durations. It takes about 190 KB, allocated by the first
// value. The zero value is an empty histogram. It is not safe for concurrent
// use.
//
// A duration outside Lowest..Highest is counted at the nearer bound and again
// in Below or Above, so a count is never lost and a quantile never flattered
// by what was left out.
type Histogram struct {
	hdr          *hdr.Histogram // in microseconds; nil until the first value
	below, above int64
	min, max     time.Duration
	// sumHigh and sumLow hold the exact sum in nanoseconds: 64 bits overflow
	// after a day of 100,000 requests in flight.
	sumHigh, sumLow uint64
}

// Record counts one duration. A negative one counts as zero.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts n occurrences of a duration; n below 1 does nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	d = max(d, 0)
	h.note(d, d, n)
	high, low := bits.Mul64(uint64(d), uint64(n))
	h.addSum(high, low)
	h.put(d, n)
}

// note keeps the exact extremes, and what is out of range.
func (h *Histogram) note(low, high time.Duration, n int64) {
	if h.Count() == 0 || low < h.min {
		h.min = low
	}
	h.max = max(h.max, high)
	switch {
	case high < Lowest:
		h.below += n
	case low > Highest:
		h.above += n
	}
}

func (h *Histogram) addSum(high, low uint64) {
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, low, 0)
	h.sumHigh, _ = bits.Add64(h.sumHigh, high, carry)
}

// put counts in the buckets only.
func (h *Histogram) put(d time.Duration, n int64) {
	if h.hdr == nil {
		h.hdr = hdr.New(1, int64(Highest/Lowest), digits)
	}
	d = min(max(d, Lowest), Highest)
	// The only way to fail is a total above 2^63, which no run can reach.
	_ = h.hdr.RecordValues(int64(d/Lowest), n)
}

// Merge adds everything that o has counted. The two may not be the same.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	h.note(o.min, o.max, 0)
	h.below += o.below
	h.above += o.above
	h.addSum(o.sumHigh, o.sumLow)
	if h.hdr == nil {
		h.hdr = hdr.New(1, int64(Highest/Lowest), digits)
	}
	h.hdr.Merge(o.hdr)
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	if h.hdr != nil {
		h.hdr.Reset()
	}
	*h = Histogram{hdr: h.hdr}
}

// Count is how many durations were recorded, those out of range included.
func (h *Histogram) Count() int64 {
	if h.hdr == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// Mean is the exact mean, 0 where nothing was recorded.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return time.Duration((math.Ldexp(float64(h.sumHigh), 64) + float64(h.sumLow)) / float64(n))
}

// Quantile returns the smallest recorded duration that at least a part q (0 to
// 1) of all recorded durations do not exceed, to three digits; 0 where nothing
// was recorded. It never leaves the exact minimum and maximum.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	q = min(max(q, 0), 1)
	d := time.Duration(h.hdr.ValueAtQuantile(q*100)) * Lowest
	return min(max(d, h.min), h.max)
}

// Bar is one bucket of a distribution.
type Bar struct {
	// From and To are the least and the greatest duration of the bucket.
	From, To time.Duration
	Count    int64
}

// Bars lists the buckets that are not empty, shortest first.
func (h *Histogram) Bars() []Bar {
	if h.Count() == 0 {
		return nil
	}
	var bars []Bar
	for _, b := range h.hdr.Distribution() {
		if b.Count > 0 {
			bars = append(bars, Bar{time.Duration(b.From) * Lowest, time.Duration(b.To) * Lowest, b.Count})
		}
	}
	return bars
}

package guard

import (
	"math"
	"slices"
	"time"

	"whittle/carve/compare/eprocess"
)

const (
	// sameTime is how far apart two compared responses may lie: a load on both sides does not change
	// faster (promisetest, TestGuardFalseAlarms).
	sameTime = 10 * time.Minute
	// windowSize is the size of a sliding window: about 20 of its responses lie above the 99th percentile.
	windowSize = 2048
)

// response is what the guards keep of an outcome.
type response struct {
	Bad     bool          `json:"b,omitempty"`
	Latency time.Duration `json:"l"`
	At      int64         `json:"t"`
}

// window holds the last responses of one side.
type window struct {
	// Ring has each latency in microseconds, negative for a bad one. Once full, the oldest is at Next.
	Ring []int32 `json:"ring"`
	Next int     `json:"next"`
	Bad  int     `json:"bad"`
	// P99 is the 99th percentile of the good ones, found anew after each hundred; 0 before.
	P99 time.Duration `json:"p99"`
}

func (w *window) add(a response) {
	entry := int32(min(a.Latency/time.Microsecond, math.MaxInt32))
	if a.Bad {
		entry = math.MinInt32
		w.Bad++
	}
	if len(w.Ring) < windowSize {
		w.Ring = append(w.Ring, entry)
		w.Next = len(w.Ring)
	} else {
		w.Next %= windowSize
		w.Bad -= int(eprocess.Indicator(w.Ring[w.Next] < 0))
		w.Ring[w.Next] = entry
		w.Next++
	}
	if w.Next%int(1/slowShare) == 0 {
		w.look()
	}
}

// look finds the 99th percentile, once a hundred responses were good.
func (w *window) look() {
	good := len(w.Ring) - w.Bad
	if good < 1/slowShare {
		return
	}
	slowest := slices.Clone(w.Ring[:int(slowShare*float64(good))+1])
	slices.Sort(slowest)
	for _, l := range w.Ring[len(slowest):] {
		if l > slowest[0] {
			i, _ := slices.BinarySearch(slowest, l)
			copy(slowest, slowest[1:i])
			slowest[i-1] = l
		}
	}
	w.P99 = time.Duration(slowest[0]) * time.Microsecond
}

// seen counts the responses and the bad ones among them.
func (w *window) seen() eprocess.Share { return eprocess.Share{N: len(w.Ring), Differing: w.Bad} }

// badRate is a guess at the share of bad responses, about 1 % before there are any.
func (w *window) badRate() float64 { return (float64(w.Bad) + 0.05) / (float64(len(w.Ring)) + 5) }

package form

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A number that the monolith makes anew says little by its form. Two things are looked at:
// whether the candidate's stands still where the monolith's does not, and whether it is
// drawn from another range.

// Bounds of numbers.
const (
	// stillSlack is by how much more often the candidate's number may be that of the
	// exchange before: of a service that is faster, small ones are often the same.
	stillSlack = 0.75
	// stillLeast is the smallest number that counts as one that stands still: a faster
	// candidate takes 0 ms, or 3, again and again.
	stillLeast = 10
	// stillLong is for how long it must have stood still to be called so: what a server
	// measures of itself may be the same for some seconds.
	stillLong = time.Minute

	rangeKept  = 64  // numbers of each side
	rangeEvery = 16  // exchanges between two choices of a threshold
	rangeLeast = 0.2 // of the shares beyond a threshold, what they must lie apart
	// rangeSuspect is the wealth from which EQUIVALENT is not said. It is no proof: a number
	// that each server measures of itself may be another one on a faster server.
	rangeSuspect = 1000
)

// still follows the number that a side says.
type still struct {
	last  [2]uint64
	since time.Time // the candidate's
	long  bool
}

// category says whether a side's number is that of the exchange before; the monolith's also
// where it is the candidate's of the exchange before, so that of two services that draw
// alike the candidate's is not so more often, whatever it said.
func (s *still) category(list []category, side int, values []value) []category {
	if len(values) != 1 || !values[0].isNumeric() {
		return list
	}
	h := values[0].hash
	if h == s.last[side%2] || side%2 == Monolith && h == s.last[Candidate] {
		if math.Abs(values[0].amount) >= stillLeast || side%2 == Monolith {
			return append(list, category{code: 1, word: "the number of the exchange before"})
		}
	}
	return append(list, category{code: 0, word: "another number"})
}

// see takes the numbers of an exchange.
func (s *still) see(e *formExchange) {
	for side, values := range [2][]value{e.monolith, e.candidate} {
		h := uint64(0)
		if len(values) == 1 {
			h = values[0].hash
		}
		if side == Candidate {
			if h != s.last[side] || s.since.IsZero() {
				s.since = e.at
			}
			s.long = s.long || !s.since.IsZero() && e.at.Sub(s.since) >= stillLong
		}
		s.last[side] = h
	}
}

// ranges holds the last numbers of both sides, and the threshold that told them apart best.
// It is chosen from the past, so that of services that draw alike either side's next number
// lies beyond it as often.
type ranges struct {
	kept   [2][]float64
	next   [2]int
	n      int
	beyond float64
	above  bool // what counts lies above the threshold
	apart  bool // there is one
}

func (r *ranges) see(side int, x float64) {
	if len(r.kept[side]) < rangeKept {
		r.kept[side] = append(r.kept[side], x)
	} else {
		r.kept[side][r.next[side]] = x
		r.next[side] = (r.next[side] + 1) % rangeKept
	}
}

// choose finds the threshold anew, now and then.
func (r *ranges) choose() {
	if r.n++; r.n%rangeEvery != 0 {
		return
	}
	type number struct {
		x    float64
		side int
	}
	var all [2 * rangeKept]number
	list := all[:0]
	for side, kept := range r.kept {
		for _, x := range kept {
			list = append(list, number{x, side})
		}
	}
	slices.SortFunc(list, func(a, b number) int { return cmp.Compare(a.x, b.x) })
	var below [2]float64
	r.apart = false
	best := rangeLeast
	for i, v := range list {
		below[v.side] += 1 / float64(len(r.kept[v.side]))
		if i+1 < len(list) && list[i+1].x == v.x {
			continue
		}
		if d := below[Candidate] - below[Monolith]; math.Abs(d) > best {
			best, r.beyond, r.above, r.apart = math.Abs(d), v.x, d < 0, true
		}
	}
}

func (r *ranges) category(list []category, values []value) []category {
	if !r.apart {
		return list
	}
	c := category{code: 0, word: "as usual"}
	for i := range values {
		if values[i].isNumeric() && (values[i].amount > r.beyond) == r.above {
			c = category{code: 1, word: "larger numbers"}
			if !r.above {
				c.word = "smaller numbers"
			}
		}
	}
	return append(list, c)
}

// isRanged reports whether the size of the monolith's numbers is compared: not of those that
// rise, wander or are given out, nor of what a server measures of itself.
func (p *formPath) isRanged() bool {
	return p.isAmount() && !p.measured && !p.numbered() && !p.mayRise() && !p.isGauge()
}

// measures are words in the names of what a server measures of itself, of which a faster one
// says another number.
var measures = []string{
	"took", "elapsed", "duration", "latency", "runtime", "uptime", "timing", "timings", "time", "times", "ms", "millis", "micros", "nanos",
	"seconds", "cpu", "load", "memory", "mem", "heap", "rss", "queue", "queued", "connections", "wait", "age", "ttl", "stats", "metrics", "speed", "rate",
	"pid", "threads", "workers", "goroutines", "pool", "hits", "misses", "bytes",
}

// isMeasured reports whether a place is named as a measure.
func isMeasured(path string) bool {
	word := func(s string) bool { return slices.Contains(measures, strings.ToLower(s)) }
	start := 0
	for i, r := range path {
		switch {
		case !unicode.IsLetter(r), unicode.IsUpper(r):
			if word(path[start:i]) {
				return true
			}
			if start = i; !unicode.IsLetter(r) {
				start = i + len(string(r))
			}
		}
	}
	return word(path[start:])
}

// Bounds of wandering.
const (
	wanderLeast  = 16
	wanderFactor = 2
	wanderFades  = 1 << 10
	// wanderSlack is by how much more often the candidate's may be an earlier one: a number
	// that stays near 0 for a while is often 0.
	wanderSlack = 0.5
)

// wandering tells numbers that wander, such as a load or a depth of which each is near to
// the one before, from those that are drawn for each response: then the one before is as far
// away as one of long ago.
type wandering struct {
	last float64
	// early is the number of an earlier exchange, which next takes the place of when as many
	// exchanges have come again.
	early, next float64
	n, until    int
	near, far   float64
	known       bool
}

// see takes a number, and reports whether it shows for the first time that they wander, where
// they do not rise.
func (w *wandering) see(x float64, rise bool) bool {
	if w.n++; w.n == 1 {
		w.until, w.last, w.early, w.next = 2, x, x, x
		return false
	}
	w.near += math.Abs(x - w.last)
	w.far += math.Abs(x - w.early)
	if w.n%wanderFades == 0 {
		w.near, w.far = w.near/2, w.far/2
	}
	if w.last = x; w.n >= w.until {
		w.until, w.early, w.next = 2*w.until, w.next, x
	}
	first := !w.known && !rise && w.seen()
	w.known = w.known || first
	return first
}

func (w *wandering) seen() bool { return w.n >= wanderLeast && wanderFactor*w.near < w.far }

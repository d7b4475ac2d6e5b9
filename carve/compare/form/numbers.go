package form

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"whittle/carve/compare/eprocess"
)

// A number that the monolith makes anew says little by its form. Two things are looked at:
// whether the candidate's stands still where the monolith's does not, and whether it is
// drawn from elsewhere (twosample).

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

	endsWarm  = 64   // numbers of the monolith before its ends are bet on
	endsSlack = 0.02 // by how much more often the candidate's may lie beyond them
	// rangeSuspect is the wealth from which EQUIVALENT is not said. It is no proof: a number
	// that each server measures of itself may be another one on a faster server.
	rangeSuspect = 1000
)

// still follows the number that a side says.
type still struct {
	Last  [2]uint64 `json:"l"`
	Since moment    `json:"t,omitempty"` // the candidate's
	Long  bool      `json:"long,omitempty"`
}

// category says whether a side's number is that of the exchange before; the monolith's also
// where it is the candidate's of the exchange before, so that of two services that draw
// alike the candidate's is not so more often, whatever it said.
func (s *still) category(list []category, side int, values []value) []category {
	if len(values) != 1 || !values[0].isNumeric() {
		return list
	}
	h := values[0].hash
	stands := h == s.Last[Candidate] && math.Abs(values[0].amount) >= stillLeast
	if side%2 == Monolith {
		stands = h == s.Last[Monolith] || h == s.Last[Candidate]
	}
	return append(list, either(stands, "another number", "the number of the exchange before"))
}

// see takes the numbers of an exchange.
func (s *still) see(e *formExchange) {
	for side, values := range [2][]value{e.monolith, e.candidate} {
		h := uint64(0)
		if len(values) == 1 {
			h = values[0].hash
		}
		if side == Candidate {
			if h != s.Last[side] || s.Since == 0 {
				s.Since = momentOf(e.at)
			}
			s.Long = s.Long || s.Since.lies(stillLong, e.at)
		}
		s.Last[side] = h
	}
}

// ends are the smallest and the largest of the monolith's numbers so far. Of services that draw
// alike either side's next one lies beyond them as often.
type ends struct {
	Low  float64 `json:"l"`
	High float64 `json:"h"`
	N    int     `json:"n"`
}

func (r *ends) see(x float64) {
	if r.N++; r.N == 1 {
		r.Low, r.High = x, x
	}
	r.Low, r.High = min(r.Low, x), max(r.High, x)
}

func (r *ends) category(list []category, values []value, times bool) []category {
	if r.N < endsWarm {
		return list
	}
	c := category{code: 0, word: "as usual"}
	for i := range values {
		switch v := &values[i]; {
		case !v.hasSize(times):
		case v.amount > r.High:
			c = category{code: 1, word: "larger numbers"}
		case v.amount < r.Low:
			c = category{code: 1, word: "smaller numbers"}
		}
	}
	return append(list, c)
}

// isRanged reports whether the size of the monolith's numbers is compared: not of those that
// rise or fall with time or by asking, wander or are given out, nor of what a server measures
// of itself.
func (p *formPath) isRanged() bool {
	return !p.measured && !p.isGauge() && !p.moves() && !p.mayRise() && (!p.numbered() || p.isRandom()) && !p.alike.IsMoved()
}

// moves reports whether the numbers rise or fall with time.
func (p *formPath) moves() bool {
	return p.rising() || p.falling() || p.slow.rising() || p.slow.falling()
}

// isRandom reports whether numbers of which each is new were seen for long enough to rise if
// they were given out one after another, though many requests are under way at once.
func (p *formPath) isRandom() bool { return p.Ranked >= ranksKnown && p.slow.Ranked >= slowEnough }

// measures are words in the names of what a server measures of itself, of which a faster one
// says another number.
var measures = []string{
	"took", "elapsed", "duration", "latency", "runtime", "uptime", "timing", "timings", "time", "times", "ms", "millis", "micros", "nanos",
	"seconds", "cpu", "load", "memory", "mem", "heap", "rss", "queue", "queued", "connections", "wait", "age", "ttl", "stats", "metrics", "speed", "rate",
	"pid", "threads", "workers", "goroutines", "pool", "hits", "misses", "bytes",
}

// isMeasured reports whether a place is named as what a server measures of itself.
func isMeasured(path string) bool { return isNamed(path, measures) }

// IsLoad reports whether a place is named as what traffic moves.
func IsLoad(path string) bool { return isNamed(path, loads) }

var loads = []string{"load", "cpu", "memory", "mem", "heap", "rss", "queue", "queued", "connections", "latency", "threads", "goroutines", "metrics"}

// isNamed reports whether one of some words is among those of a path.
func isNamed(path string, words []string) bool {
	word := func(s string) bool { return slices.Contains(words, strings.ToLower(s)) }
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

// wandersMost is of how many numbers of a list it is seen whether they wander.
const wandersMost = 4

// wandering tells numbers that wander, such as a load or a depth of which each is near to
// the one before, from those that are drawn for each response: then the one before is as far
// away as one of long ago. Of a list, such as the loads of one, five and fifteen minutes, each
// is held against that at its place.
type wandering struct {
	last amounts
	// early are the numbers of three earlier exchanges, of which the oldest gives way when as
	// many exchanges have come again: one may lie far from all others by chance.
	early    [3]amounts
	far      [3]float64
	near     float64
	n, until int
	known    bool
}

// amounts are the first numbers of a response.
type amounts struct {
	list [wandersMost]float64
	n    int
}

// amountsOf are those of values; none where one is no number.
func amountsOf(values []value) (a amounts) {
	for i := range values[:min(len(values), wandersMost)] {
		if v := &values[i]; !v.sized || v.form.class == classTime {
			return amounts{}
		}
		a.list[i], a.n = values[i].amount, i+1
	}
	return a
}

// from is how far the numbers are from others.
func (a *amounts) from(b *amounts) (sum float64) {
	for i := range min(a.n, b.n) {
		sum += math.Abs(a.list[i] - b.list[i])
	}
	return sum
}

// see takes the numbers of a response, and reports whether it shows for the first time that
// they wander, where they do not rise.
func (w *wandering) see(now amounts, rise bool) bool {
	if w.n++; w.n <= len(w.early) {
		w.until, w.last, w.early[w.n-1] = 2*len(w.early), now, now
		return false
	}
	w.near += now.from(&w.last)
	for i := range w.early {
		w.far[i] += now.from(&w.early[i])
	}
	if w.n%wanderFades == 0 {
		w.near /= 2
		for i := range w.far {
			w.far[i] /= 2
		}
	}
	if w.last = now; w.n >= w.until {
		w.until *= 2
		copy(w.early[:], w.early[1:])
		copy(w.far[:], w.far[1:])
		w.early[2] = now
	}
	first := !w.known && !rise && w.seen()
	w.known = w.known || first
	return first
}

func (w *wandering) seen() bool {
	return w.n >= wanderLeast && wanderFactor*w.near < slices.Min(w.far[:])
}

// packed is what is kept; nil: nothing is known.
func (w *wandering) packed() []float64 {
	if w.n == 0 {
		return nil
	}
	list := []float64{float64(w.n), float64(w.until), w.near, w.far[0], w.far[1], w.far[2], eprocess.Indicator(w.known)}
	for _, a := range []*amounts{&w.last, &w.early[0], &w.early[1], &w.early[2]} {
		list = append(append(list, float64(a.n)), a.list[:a.n]...)
	}
	return list
}

// unpack reads what packed gave; false: it did not.
func (w *wandering) unpack(list []float64) bool {
	if len(list) == 0 {
		return true
	}
	if len(list) < 7 || !(list[0] >= 0 && list[0] < 1e15) || !(list[1] >= 0 && list[1] < 1e15) {
		return false
	}
	w.n, w.until, w.near, w.far, w.known = int(list[0]), int(list[1]), list[2], [3]float64(list[3:6]), list[6] != 0
	list = list[7:]
	for _, a := range []*amounts{&w.last, &w.early[0], &w.early[1], &w.early[2]} {
		if len(list) == 0 || !(list[0] >= 0 && list[0] <= wandersMost) || len(list) <= int(list[0]) {
			return false
		}
		a.n = int(list[0])
		copy(a.list[:], list[1:1+a.n])
		list = list[1+a.n:]
	}
	return len(list) == 0
}

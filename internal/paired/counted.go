package paired

import "math"

// counted is a mean whose sums are counts.
type counted struct{ *mean }

// Counted is Mean for counts of events, such as the errors of requests. It has an
// interval also where one side has no event: the size of that side bounds how
// often events can occur there.
func Counted(a, b []Share) Figure { return counted{meanOf(a, b)} }

// bound returns the interval where one side has none and the test has rejected
// that the two are equal.
func (f counted) bound(t *Test) (low, high float64) {
	if f.allA.Sum > 0 {
		return 0, 1 / t.minRatio(f.b, f.a)
	}
	return t.minRatio(f.a, f.b), math.Inf(1)
}

// minRatio is the low end of the ratio of some's rate to none's, which has no
// count at all. Flipping signs cannot give it, because no factor but 0 turns a
// count into none. It is the rule of three (Hanley and Lippman-Hand 1983): an event
// that was not seen in n independent trials occurs, at an error rate of α, at most
// −ln α times in n.
//
// The trials are none's stretches, not its requests: errors come in bursts, and
// where some request fails all the time, the length of bursts is not known. So
// what is shown is at most 24/3.7, a factor of 6.5, however great the difference
// is. It assumes that none's bursts are no greater than some's. A side that got
// more requests than the other is treated as if it had got as many: bursts may
// depend on time, not on requests.
//
// As the test has rejected 1 itself, the end is never below it.
func (t *Test) minRatio(none, some []Share) float64 {
	hit := make([]bool, t.stretches)
	asked, all := 0.0, 0.0
	for i := range some {
		if some[i].Sum > 0 {
			hit[i*t.stretches/t.pairs] = true
		}
		asked += none[i].Of
		all += some[i].Of
	}
	stretches := 0.0
	for _, h := range hit {
		if h {
			stretches++
		}
	}
	return max(stretches/-math.Log(Alpha/2)*min(asked/all, 1), 1)
}

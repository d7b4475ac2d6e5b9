package form

import "math"

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

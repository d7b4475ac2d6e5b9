package form

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/own"
)

// trend counts which way the monolith's numbers go from one exchange to the next.
type trend struct {
	Last  float64 `json:"l"`
	Ups   int     `json:"up"`
	Downs int     `json:"down"`
}

// stepsShare of the steps go one way where numbers rise or fall. Simulation:
// TestEqualDrawsAreFoundSo.
const stepsShare = 0.9

func (w *trend) see(x float64) {
	w.Ups += int(eprocess.Indicator(x > w.Last))
	w.Downs += int(eprocess.Indicator(x < w.Last))
	if w.Last = x; w.Ups+w.Downs > own.Fades {
		w.Ups, w.Downs = w.Ups/2, w.Downs/2
	}
}

// rises reports whether numbers are given out one after another, or rise or fall with time.
func (w *trend) rises() bool {
	n := w.Ups + w.Downs
	return n >= 2*formWarm && float64(max(w.Ups, w.Downs)) >= stepsShare*float64(n)
}

// hold takes the monolith's first value of an exchange.
func (p *formPath) hold(values []value) {
	h := uint32(1) // there is none
	if len(values) > 0 {
		if h = uint32(values[0].hash); h == 0 {
			h = uint32(digest.FNV(values[0].raw))
		}
	}
	p.Held.See(h)
}

// isHeld reports whether the monolith holds its values for a while, so that what both sides
// say is not bet on: not if they are the time, in seconds, nor where nothing is known to vary.
// Whether it is so follows from the exchanges before, so that what the present one says does
// not choose whether it is bet on.
func (p *formPath) isHeld() bool {
	return p.Held.Holds() && !p.ofNow() && (!p.Fresh || p.Held.Newer > 0)
}

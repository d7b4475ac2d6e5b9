package engine

import (
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
)

// Touch is which share of a candidate's responses a mutation changes, or makes
// slow or fail.
type Touch struct {
	// Mirrored are those that come after the monolith's, Served those that come
	// first.
	Mirrored, Served Part
}

// Part counts the responses that are touched.
type Part struct{ Touched, Of int }

// Share of the responses that are touched.
func (p Part) Share() float64 { return float64(p.Touched) / float64(max(p.Of, 1)) }

// Share is the larger of both.
func (t *Touch) Share() float64 { return max(t.Mirrored.Share(), t.Served.Share()) }

func (t *Touch) count(first bool, r *fault.Response) {
	part := &t.Mirrored
	if first {
		part = &t.Served
	}
	part.Of++
	if r.Wrong || r.Slow {
		part.Touched++
	}
}

// Measure plays so many requests at a share of one half with nobody judging, and
// counts what a mutation touches of them.
func Measure(f *family.Family, m *fault.Mutation, seed uint64, requests int) (Touch, error) {
	spec, err := Route(f, "")
	if err != nil {
		return Touch{}, err
	}
	spec.Guard.Consecutive = requests + 1
	s := Defaults()
	s.Requests = requests
	g := newGateway(f, m, spec, seed, s)
	g.ctl = deaf{}
	g.apply("", whittle.Position{Generation: 1, Share: whittle.All / 2, Phase: whittle.PhaseShift})
	if err := g.play(); err != nil {
		return Touch{}, err
	}
	return g.touch, nil
}

// deaf is a controller that decides nothing.
type deaf struct{}

func (deaf) Step() error                                        { return nil }
func (deaf) Observe(*whittle.Exchange) whittle.Observation      { return whittle.Observation{} }
func (deaf) Recheck(*whittle.Recheck) (_ time.Duration, _ bool) { return 0, false }
func (deaf) Known(string, *whittle.Request) bool                { return true }
func (deaf) Outcome(whittle.Outcome)                            {}
func (deaf) Tripped(string, string, uint64)                     {}

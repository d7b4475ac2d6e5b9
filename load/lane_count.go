package load

import (
	"math"

	"whittle/load/plan"
)

// What one lane is given before there is another: a lane that has much to do
// finds several answers at each wake-up, and so needs less for each.
const (
	laneRate  = 15_000 // requests per second
	laneUsers = 64     // of a closed model
)

// lanesOf is how many lanes the plan's load is worth, were there cores enough.
func lanesOf(p *plan.Plan) int {
	reads := false
	p.Walk(func(s *plan.Step) { reads = reads || s.Request != nil && s.Request.ReadsBody() })
	if reads {
		// How long a core takes over the answers is not known beforehand.
		return math.MaxInt
	}
	users := 0
	for i := range p.Groups {
		users += p.Groups[i].Users
	}
	peak := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		rate := max(ph.Rate, ph.RampTo)
		if ph.HasCount && ph.Duration > 0 {
			rate = float64(ph.Count) / ph.Duration.Seconds()
		}
		peak = max(peak, rate)
	}
	asked := 0.0
	for i := range p.Scenarios {
		asked = max(asked, requestsOf(p.Scenarios[i].Steps))
	}
	return 1 + users/laneUsers + int(min(peak*asked/laneRate, math.MaxInt32))
}

// requestsOf is how many requests a flow sends, about.
func requestsOf(steps []plan.Step) float64 {
	n := 0.0
	for i := range steps {
		switch s := &steps[i]; {
		case s.Request != nil:
			n++
		case s.Loop != nil:
			n += requestsOf(s.Loop.Steps) * float64(max(s.Loop.Count, int64(len(s.Loop.Over)), 1))
		case s.Action != nil:
			n += requestsOf(s.Action.Inner())
		}
	}
	return n
}

package load

import (
	"math"

	"whittle/load/plan"
)

// The load of one event loop before another is started. A busy loop finds several
// responses at each wake-up, so each costs less.
const (
	loopRequestRate = 15_000 // requests per second
	loopUsers       = 64     // of a closed model
)

// eventLoopsFor is how many event loops the plan's load needs, given enough cores.
func eventLoopsFor(p *plan.Plan) int {
	reads := false
	p.Walk(func(s *plan.Step) { reads = reads || s.Request != nil && s.Request.ReadsBody() })
	if reads {
		// The CPU time for reading bodies is not known beforehand.
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
	perUser := 0.0
	for i := range p.Scenarios {
		perUser = max(perUser, requestsOf(p.Scenarios[i].Steps))
	}
	return 1 + users/loopUsers + int(min(peak*perUser/loopRequestRate, math.MaxInt32))
}

// requestsOf estimates how many requests a flow sends.
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

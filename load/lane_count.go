package load

import "math"

// What one lane is given before there is another: a lane that has much to do
// finds several answers at each wake-up, and so needs less for each.
const (
	laneRate  = 15_000 // requests per second
	laneUsers = 64     // of a closed model
)

// lanes is how many lanes the plan's load is worth, were there cores enough.
func (p *Plan) lanes() int {
	reads := false
	p.walk(func(s *step) { reads = reads || s.request != nil && s.request.readsBody() })
	if reads {
		// How long a core takes over the answers is not known beforehand.
		return math.MaxInt
	}
	users := 0
	for i := range p.groups {
		users += p.groups[i].Users
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
	for i := range p.scenarios {
		asked = max(asked, requestsOf(p.scenarios[i].steps))
	}
	return 1 + users/laneUsers + int(min(peak*asked/laneRate, math.MaxInt32))
}

// requestsOf is how many requests a flow sends, about.
func requestsOf(steps []step) float64 {
	n := 0.0
	for i := range steps {
		switch s := &steps[i]; {
		case s.request != nil:
			n++
		case s.loop != nil:
			n += requestsOf(s.loop.steps) * float64(max(s.loop.count, int64(len(s.loop.over)), 1))
		case s.action != nil:
			n += requestsOf(s.action.inner())
		}
	}
	return n
}

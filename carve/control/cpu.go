package control

import "whittle"

// CPU takes the CPU time that the processes of a route's two sides have used since
// each began. It is ignored where the route is gone.
func (c *Controller) CPU(name string, reading whittle.CPUReading) {
	c.withEvidence(name, func(r *route) {
		share := r.decided.Load().Share
		serving := share > 0
		r.ev.setShare(share)
		r.ev.guard.CPU(reading, serving)
		r.ev.changed = true
		if serving {
			r.ev.exposed = true
			r.wake.Notify()
		}
	})
}

// addCPU fills in what a request costs each side, as the guard knows it.
func addCPU(s *whittle.RouteStatus) {
	for _, m := range s.Guards {
		if m.Name == "cpu" {
			s.Monolith.CPU, s.Candidate.CPU = m.Monolith, m.Candidate
		}
	}
}

package control

import (
	"whittle"
	"whittle/carve/rollout"
)

// Status shows every route with a candidate, in the order of their names. All
// of it is on disk but the sentence in Next and the traffic, which are of this
// moment.
func (c *Controller) Status() []whittle.RouteStatus {
	routes := c.routes()
	all := make([]whittle.RouteStatus, 0, len(routes))
	for _, r := range routes {
		all = append(all, r.status())
	}
	return all
}

// Route shows one route. An unknown one is a *whittle.Error with NotFound.
func (c *Controller) Route(name string) (whittle.RouteStatus, error) {
	r := c.find(name)
	if r == nil {
		return whittle.RouteStatus{}, unknown(name)
	}
	return r.status(), nil
}

func (r *route) status() whittle.RouteStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := r.disk.shown
	s := shown.status
	now := r.c.o.Now()
	s.Monolith, s.Candidate = r.pace.shown(whittle.Monolith, now), r.pace.shown(whittle.Candidate, now)
	s.Gates = r.gateStatus()
	in := shown.in
	s.Steer = r.c.o.Steered(r.name)
	in.Wait = withSteered(in.Wait, s.Steer)
	in.Gates = r.gates.states(&shown.st)
	if s.Sink = r.spec.Rollout.Sink; s.Sink {
		s.Guards, s.Holds = []whittle.Meter{}, rollout.AtSink // guards watch users
	} else if r.spec.Rollout.Observed {
		s.Holds = rollout.AtObserver
	} else if r.spec.Rollout.AtProxy {
		s.Holds = rollout.AtProxy
	}
	s.NextShare = rollout.Promotion(r.spec.Rollout, shown.st)
	s.Withheld = rollout.Withheld(r.spec.Rollout, shown.st, in)
	s.Next = r.trouble() + underWay(s.Steer) + rollout.Next(r.spec.Rollout, shown.st, in, now)
	return s
}

// underWay says that a share is not in force yet, as a sentence with a trailing space; empty: it
// is, or nobody was told.
func underWay(s *whittle.SteerStatus) string {
	if s == nil || s.UnderWay == "" {
		return ""
	}
	return "At the proxy " + s.Wait + ". "
}

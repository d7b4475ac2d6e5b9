package control

import (
	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
)

// Fleet is what a leader knows of the gateways that it decides for. Its methods must not
// wait for control.
type Fleet interface {
	// Floor is what the fleet knows of a route.
	Floor(route string) fleet.Floor
	// MayRise reports whether a rise may be decided now.
	MayRise(route string) bool
	// Reports has the last report of each gateway on a route.
	Reports(route string) []Report
}

// Report is one gateway's report on a route.
type Report struct {
	Gateway string
	Counts  whittle.Counts
	// Silent says that nothing was heard of the gateway for longer than its lease.
	Silent bool
}

// Sent is where an exchange of a fleet's stream comes from, and its place there. The zero
// value is this process's own gateway.
type Sent struct {
	Gateway string
	Run     uint64
	Place   uint64
}

// ObserveSent compares an exchange that a gateway of the fleet has sent. skip is why it
// is not compared; empty: it is.
func (c *Controller) ObserveSent(s Sent, skip string, x *whittle.Exchange) {
	if r := c.find(x.Route); r != nil && skip == "" {
		r.observe(s, x)
		return
	}
	c.withEvidence(x.Route, func(r *route) { r.ev.count(s, x, &whittle.Observation{Skip: skip}) })
}

// Place is how far the evidence of a route has come in the fleet's stream.
func (c *Controller) Place(name string) (place uint64) {
	c.withEvidence(name, func(r *route) { place = r.ev.place })
	return place
}

// Decided is the position that was decided last. An unknown route is a *whittle.Error with
// NotFound.
func (c *Controller) Decided(name string) (whittle.Position, error) {
	r := c.find(name)
	if r == nil {
		return whittle.Position{}, unknown(name)
	}
	return *r.decided.Load(), nil
}

// Surpass decides a route anew, above what the fleet knows and at no more than its share:
// a gateway, or the store, knows of something that was not decided here.
func (c *Controller) Surpass(name string, f fleet.Floor) {
	r := c.find(name)
	if r == nil {
		return
	}
	r.gather()
	defer r.release()
	r.lower(r.generation, f)
	r.endRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: the fleet knows of a later decision"))
	r.generation = r.issue()
	if r.st.Share == 0 {
		r.zero, r.trip = r.generation, trip{}
	}
	r.decided.Store(&whittle.Position{Generation: r.generation, Share: r.st.Share, Phase: r.st.Phase})
	r.apply()
	r.saveNow()
}

// lower takes in what the fleet knows beyond a generation. The caller holds both locks or has
// the only reference to the route. It issues a generation afterwards, and applies it.
func (r *route) lower(generation uint64, f fleet.Floor) {
	r.issued, r.zero = max(r.issued, f.Generation, f.Zero, f.Trip), max(r.zero, f.Zero)
	to, why := f.Lowers(generation, r.st.Share)
	if to >= r.st.Share {
		return
	}
	next, d := rollout.Lowered(r.st, to, why, r.c.o.Now())
	d.Generation = r.issue()
	r.adopt(next, *d)
	r.saveNow()
}

package control

import (
	"maps"

	"whittle"
)

// change is what a reload means for one route.
type change struct {
	route *route
	spec  whittle.Route
	epoch string
	// other says that the old evidence is not about this candidate.
	other bool
}

// Reload takes another monolith and list of routes. swap puts them in force in
// the gateway (Gateway.Reload); on its error, or where a route cannot be made,
// nothing has changed. A route with another candidate, monolith or comparison goes to
// the monolith before swap is called, and starts with no evidence. A route with
// another policy goes on under it. A route that is gone is saved and ended; should it
// come back, it goes on from there.
func (c *Controller) Reload(monolith whittle.Upstream, routes []whittle.Route, swap func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.table.Load()
	var fresh []*route
	var changes []change
	table := map[string]*route{}
	for i, spec := range routes {
		if spec.Candidate == nil {
			continue
		}
		if r := old[spec.Name]; r != nil {
			if _, err := c.o.NewJudge(spec.Compare); err != nil {
				return fieldOf(i, err)
			}
			epoch := Epoch(monolith, spec)
			changes = append(changes, change{route: r, spec: spec, epoch: epoch, other: r.epochNow() != epoch})
			table[spec.Name] = r
			continue
		}
		r, err := c.load(monolith, spec)
		if err != nil {
			return fieldOf(i, err)
		}
		fresh = append(fresh, r)
		table[spec.Name] = r
	}
	gone := maps.Clone(old)
	maps.DeleteFunc(gone, func(name string, _ *route) bool { return table[name] != nil })
	c.takeOff(changes, gone)
	if err := swap(); err != nil {
		c.putBack(changes, gone)
		return err
	}
	c.table.Store(&table)
	for _, ch := range changes {
		if err := ch.route.respec(ch); err != nil {
			c.o.Log.Error("reload", "route", ch.route.name, "err", err)
		}
	}
	for _, r := range fresh {
		if c.started {
			r.enter()
		}
		if c.begin != nil {
			c.begin(r)
		}
	}
	return nil
}

// takeOff moves users off candidates that will change, and saves routes that will be
// removed while the gateway still has their ledgers.
func (c *Controller) takeOff(changes []change, gone map[string]*route) {
	for _, ch := range changes {
		if ch.other {
			ch.route.freeze()
		}
	}
	for name, r := range gone {
		r.freeze()
		r.stop()
		if err := r.flush(); err != nil {
			c.o.Log.Error("the last state of a route that is gone cannot be saved", "route", name, "err", err)
		}
	}
}

// putBack undoes freeze.
func (c *Controller) putBack(changes []change, gone map[string]*route) {
	for _, ch := range changes {
		if ch.other {
			ch.route.thaw()
		}
	}
	for _, r := range gone {
		r.thaw()
		if c.begin != nil {
			c.begin(r)
		}
	}
}

// freeze keeps every user on the monolith, whatever is decided, until thaw.
func (r *route) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
	r.endRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: the config is being reloaded"))
	r.renew() // over a rise that may be on its way to the disk, too
}

func (r *route) thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = false
	r.renew()
}

func (r *route) epochNow() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// respec goes on under another spec.
func (r *route) respec(ch change) error {
	r.gather()
	defer r.release()
	guardID := fingerprint(ch.spec.Guard)
	guard := r.guardID != guardID
	if fingerprint(r.spec.Rollout) != fingerprint(ch.spec.Rollout) {
		r.endRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: the rollout's steps are being reloaded"))
	}
	old := r.epoch
	r.spec, r.guardID, r.epoch, r.frozen = ch.spec, guardID, ch.epoch, false
	var err error
	switch {
	case ch.other:
		if err = r.restart(otherCandidate); err != nil {
			r.epoch, r.frozen = old, true // what was decided for the other one stays out of force, until a reload that can
		}
	case guard:
		r.ev.guard, r.ev.exposed, r.ev.share, r.ev.changed = r.c.o.NewGuard(r.spec.Guard), false, 0, true
	}
	if r.ev.looks != looks(&r.spec) {
		r.ev.forgetUncompared(&r.spec)
	}
	r.ev.queries = newQueries(&r.spec, r.ev.queries)
	r.watch(r.st)
	if r.rise == nil {
		r.renew()
	}
	r.wake.Notify()
	return err
}

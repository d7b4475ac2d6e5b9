package upstream

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"whittle"
	"whittle/carve/gateway/resolve"
)

// group is an upstream's instances as they are at a moment. It is immutable.
type group struct {
	all []*instance
	// sound are those that their checks find healthy, ready those of them that are
	// not ejected; both of the lowest priority at which they are enough to bear all
	// requests. Where they are too few at each, either is all.
	sound, ready []*instance
	// panics says that instances are among ready that are not fit for requests.
	panics bool
	// why is why all is empty; nil: the first lookup is under way.
	why error
	// replaced is closed when another group is in force.
	replaced chan struct{}
}

// attempts are the instances that a request could not be sent to.
type attempts struct {
	failed []*instance
	since  time.Time // when the first one failed
}

// choose picks the instance for a request: of two that are drawn at random the one
// with fewer requests under way. With two instances that is the less busy one. With
// more it comes close to it, and one that has just begun, or that fails fast and so
// never has much under way, gets at most twice its part: the least busy of all would
// get everything.
//
// What is done aside goes to ejected instances too: ejection spares users, and must
// not improve what is seen of the server.
func (u *Upstream) choose(ctx context.Context, tries *attempts, aside bool) (*instance, error) {
	g := u.group.Load()
	if len(g.all) == 1 {
		return g.all[0], nil
	}
	for len(g.all) == 0 {
		if g.why != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: g.why}
		}
		select {
		case <-g.replaced:
			g = u.group.Load()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	among := g.ready
	if aside {
		among = g.sound
	}
	if len(tries.failed) > 0 {
		if among = tries.others(among); len(among) == 0 {
			among = nearest(tries.others(g.all))
		}
		if len(among) == 0 {
			among = g.all // they have changed meanwhile
		}
	}
	return lessBusy(among), nil
}

// nearest are those of the lowest priority.
func nearest(among []*instance) []*instance {
	if len(among) == 0 {
		return nil
	}
	least := slices.MinFunc(among, func(a, b *instance) int { return cmp.Compare(a.priority.Load(), b.priority.Load()) }).priority.Load()
	return slices.DeleteFunc(among, func(i *instance) bool { return i.priority.Load() != least })
}

// lessBusy draws two, by their weights, and gives the one with less under way for its
// weight.
func lessBusy(among []*instance) *instance {
	a := drawn(among, nil)
	if len(among) == 1 {
		return a
	}
	b := drawn(among, a)
	if b.load()*a.weight.Load() < a.load()*b.weight.Load() {
		return b
	}
	return a
}

// drawn draws one by weight, but not the one that is given.
func drawn(among []*instance, not *instance) *instance {
	var sum int64
	for _, i := range among {
		if i != not {
			sum += i.weight.Load()
		}
	}
	at := rand.Int64N(sum)
	for _, i := range among {
		if i == not {
			continue
		}
		if at -= i.weight.Load(); at < 0 {
			return i
		}
	}
	return among[0] // weights have changed meanwhile
}

// weightOf is the part of the requests that an address of a weight gets. One of weight 0
// has a small chance next to others (RFC 2782).
func weightOf(weight uint16) int64 { return max(100*int64(weight), 1) }

// further reports whether a request that failed at i may be sent to another
// instance: no connection came about, so that nothing was sent, or the request may be
// sent again; there is one that was not tried, and the upstream's timeout has not
// passed since the first attempt failed.
func (a *attempts) further(ctx context.Context, u *Upstream, i *instance, err error, again bool) bool {
	again = again && u.repeats && Classify(err) == whittle.FailedReset
	if !isDial(err) && !again || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if len(a.failed) == 0 {
		a.since = now
	}
	a.failed = append(a.failed, i)
	if now.Sub(a.since) >= u.timeout || len(a.others(u.group.Load().all)) == 0 {
		return false
	}
	u.elsewhere.Add(1)
	return true
}

// others are those of all that were not tried.
func (a *attempts) others(all []*instance) []*instance {
	return slices.DeleteFunc(slices.Clone(all), func(i *instance) bool { return slices.Contains(a.failed, i) })
}

// regroup puts the instances in force that the origins have now. Those that are
// still there stay as they are; the others take no further request. The caller
// holds mu.
func (u *shared) regroup() {
	old := u.group.Load()
	next := &group{replaced: make(chan struct{})}
	var failed error
	for at, s := range u.origins {
		addresses := []resolve.Address{{To: s.address}}
		if s.name != nil {
			addresses, failed = u.found[at].addresses, cmp.Or(failed, u.found[at].err)
		}
		for _, address := range addresses {
			next.add(u, old, s, address)
		}
	}
	if len(next.all) == 0 {
		next.why = failed
	}
	for _, i := range old.all {
		if !slices.Contains(next.all, i) {
			i.close()
		}
	}
	next.sort(u.spec.Panic)
	switch {
	case next.panics && !old.panics:
		u.log.Warn("so few instances are fit that all of them get requests", "upstream", u.name())
	case old.panics && !next.panics:
		u.log.Info("enough instances are fit again, and they alone get requests", "upstream", u.name())
	}
	u.group.Store(next)
	close(old.replaced)
}

// add takes old's instance of that address, or makes it.
func (g *group) add(u *shared, old *group, s origin, address resolve.Address) {
	is := func(i *instance) bool {
		return i.address == address.To && i.network == s.network && i.server == s.server
	}
	if slices.ContainsFunc(g.all, is) {
		return // two names have it
	}
	var i *instance
	if at := slices.IndexFunc(old.all, is); at >= 0 {
		i = old.all[at]
	} else {
		i = u.newInstance(s, address.To)
	}
	i.priority.Store(int64(address.Priority))
	i.weight.Store(weightOf(1))
	if s.name != nil && s.name.Service {
		i.weight.Store(weightOf(address.Weight))
	}
	g.all = append(g.all, i)
}

// sort finds the instances that are fit.
func (g *group) sort(panicBelow whittle.Share) {
	for rest := slices.Clone(g.all); len(rest) > 0; {
		level := nearest(slices.Clone(rest))
		rest = slices.DeleteFunc(rest, func(i *instance) bool { return slices.Contains(level, i) })
		enough := func(fit func(*instance) bool) []*instance {
			some := slices.DeleteFunc(slices.Clone(level), func(i *instance) bool { return !fit(i) })
			if len(some)*int(whittle.All) < int(panicBelow)*len(level) {
				return nil
			}
			return some
		}
		if len(g.sound) == 0 {
			g.sound = enough(func(i *instance) bool { return !i.unhealthy })
		}
		if len(g.ready) == 0 {
			g.ready = enough(func(i *instance) bool { return !i.unhealthy && !i.ejected })
		}
	}
	if len(g.sound) == 0 {
		g.sound = g.all
	}
	if len(g.ready) == 0 {
		g.ready = g.all
	}
	g.panics = slices.ContainsFunc(g.ready, func(i *instance) bool { return i.unhealthy || i.ejected })
}

// found is what the last lookup of an origin's name came to.
type found struct {
	addresses []resolve.Address
	err       error // nil again after the next that succeeds
}

// follow takes in what a lookup of an origin's name has found. Addresses that are no
// longer there get no further request; a lookup that fails changes nothing.
func (u *shared) follow(at int, addresses []resolve.Address, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	f, name := &u.found[at], u.origins[at].name.Host
	was := *f
	f.err = err
	switch {
	case err != nil:
		u.lookupsFailed.Add(1)
		if was.err == nil {
			u.log.Warn("a name of an upstream cannot be looked up; what was found before stays in use", "upstream", u.name(), "name", name, "addresses", len(was.addresses), "err", err)
		}
		if was.addresses != nil {
			return
		}
	case slices.Equal(was.addresses, addresses) && was.err == nil:
		return
	default:
		f.addresses = addresses
		if was.addresses != nil || was.err != nil {
			u.log.Info("the addresses of an upstream's name", "upstream", u.name(), "name", name, "addresses", addresses, "before", was.addresses)
		}
	}
	u.regroup()
}

// inherit takes over what another upstream has found for the same names.
func (u *shared) inherit(e *Upstream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, o := range u.origins {
		for i, known := range e.origins {
			if o.name != nil && known.name != nil && *o.name == *known.name && e.found[i].addresses != nil {
				u.found[at].addresses = e.found[i].addresses
			}
		}
	}
}

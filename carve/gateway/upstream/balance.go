package upstream

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// group is an upstream's instances as they are at a moment. It is immutable.
type group struct {
	all []*instance // at least one
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
func (u *Upstream) choose(tries *attempts) *instance {
	g := u.group.Load()
	if len(g.all) == 1 {
		return g.all[0]
	}
	among := g.all
	if len(tries.failed) > 0 {
		if among = tries.others(among); len(among) == 0 {
			among = g.all // they have changed meanwhile
		}
	}
	return lessBusy(among)
}

func lessBusy(among []*instance) *instance {
	n := len(among)
	at := rand.IntN(n)
	a := among[at]
	if n == 1 {
		return a
	}
	b := among[(at+1+rand.IntN(n-1))%n]
	if b.load() < a.load() {
		return b
	}
	return a
}

// further reports whether a request that failed at i may be sent to another
// instance: no connection came about, so that nothing was sent, there is one that
// was not tried, and the upstream's timeout has not passed since the first attempt
// failed.
func (a *attempts) further(ctx context.Context, u *Upstream, i *instance, err error) bool {
	if !isDial(err) || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if len(a.failed) == 0 {
		a.since = now
	}
	a.failed = append(a.failed, i)
	return now.Sub(a.since) < u.timeout && len(a.others(u.group.Load().all)) > 0
}

// others are those of all that were not tried.
func (a *attempts) others(all []*instance) []*instance {
	return slices.DeleteFunc(slices.Clone(all), func(i *instance) bool { return slices.Contains(a.failed, i) })
}

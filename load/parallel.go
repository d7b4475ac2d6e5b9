package load

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

// runParallel runs the branches of a step concurrently. Each sees the variables
// and cookies as they were before; their changes are merged in the branches'
// order when all are done. As in Artillery, a user without a pool has only
// http.maxSockets connections (one unless given), so that branches run one after
// the other unless the plan says more.
func (u *user) runParallel(ctx context.Context, p *plan.Parallel) bool {
	limit := min(p.Limit, len(p.Branches))
	if u.client.OwnConnections() {
		limit = min(limit, max(u.run.plan.HTTP.Sockets, 1))
	}
	if limit <= 1 || u.run.dry != nil {
		return u.RunSteps(ctx, p.Branches)
	}
	branches := make([]*user, len(p.Branches))
	for i := range branches {
		branches[i] = u.branch()
	}
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() {
			var last *user
			for i := next.Add(1) - 1; i < int64(len(branches)); i = next.Add(1) - 1 {
				b := branches[i]
				// Branches after each other use the same connections.
				if last != nil {
					b.client.TakeConnections(last.client)
				}
				if !b.RunSteps(ctx, p.Branches[i:i+1]) {
					failed.Store(true)
				}
				last = b
			}
			if last != nil {
				last.client.CloseConnections()
			}
		})
	}
	wg.Wait()
	u.merge(branches)
	return !failed.Load()
}

// branch makes a user for one branch of this one's flow.
func (u *user) branch() *user {
	b := &user{run: u.run, shard: u.shard, client: u.client.Branch(), unrecorded: u.unrecorded}
	b.index, b.due, b.group, b.number = u.index, u.due, u.group, u.number
	b.pcg.Seed(u.scope.RNG.Uint64(), u.scope.RNG.Uint64())
	b.scope = expr.Scope{RNG: rand.New(&b.pcg), Values: slices.Clone(u.scope.Values), User: b}
	return b
}

// merge takes over what the branches changed; where two changed the same variable,
// the later branch wins.
func (u *user) merge(branches []*user) {
	values := slices.Clone(u.scope.Values)
	clients := make([]*wire.Client, len(branches))
	for k, b := range branches {
		clients[k] = b.client
		for i, v := range b.scope.Values {
			if v != values[i] {
				u.scope.Values[i] = v
			}
		}
		if b.due.After(u.due) {
			u.due = b.due
		}
		if b.sent.After(u.sent) {
			u.sent = b.sent
		}
		u.requests += b.requests
		u.failed = u.failed || b.failed
		u.endedByError = u.endedByError || b.endedByError
	}
	u.client.AdoptCookies(clients)
}

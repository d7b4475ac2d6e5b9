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
func (w *worker) runParallel(ctx context.Context, p *plan.Parallel) bool {
	limit := min(p.Limit, len(p.Branches))
	if w.client.OwnConnections() {
		limit = min(limit, max(w.run.plan.HTTP.Sockets, 1))
	}
	if limit <= 1 {
		return w.runSteps(ctx, p.Branches)
	}
	users := make([]*worker, len(p.Branches))
	for i := range users {
		users[i] = w.branch()
	}
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() {
			var last *worker
			for i := next.Add(1) - 1; i < int64(len(users)); i = next.Add(1) - 1 {
				u := users[i]
				// Branches after each other use the same connections.
				if last != nil {
					u.client.TakeConnections(last.client)
				}
				if !u.runSteps(ctx, p.Branches[i:i+1]) {
					failed.Store(true)
				}
				last = u
			}
			if last != nil {
				last.client.CloseConnections()
			}
		})
	}
	wg.Wait()
	w.merge(users)
	return !failed.Load()
}

// branch makes a worker for one branch of this worker's user.
func (w *worker) branch() *worker {
	u := &worker{run: w.run, shard: w.shard, index: w.index, client: w.client.Branch(), due: w.due}
	u.pcg.Seed(w.scope.RNG.Uint64(), w.scope.RNG.Uint64())
	u.scope = expr.Scope{RNG: rand.New(&u.pcg), Values: slices.Clone(w.scope.Values)}
	return u
}

// merge takes over what the branches changed; where two changed the same
// variable, the later branch wins.
func (w *worker) merge(users []*worker) {
	values := slices.Clone(w.scope.Values)
	clients := make([]*wire.Client, len(users))
	for k, u := range users {
		clients[k] = u.client
		for i, v := range u.scope.Values {
			if v != values[i] {
				w.scope.Values[i] = v
			}
		}
		if u.due.After(w.due) {
			w.due = u.due
		}
	}
	w.client.AdoptCookies(clients)
}

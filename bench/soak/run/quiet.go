package run

import (
	"context"
	"sync"
	"time"
)

// Nobody asks for a moment so many times in a run: every quietEvery, within bounds. The more,
// the smaller a growth can be told from what moves by itself.
const (
	leastQuiets = 30
	mostQuiets  = 120
	quietEvery  = 20 * time.Second
)

func quietsOf(run time.Duration) time.Duration {
	return min(max(run/quietEvery, leastQuiets), mostQuiets)
}

// quiets has the users and the disturbances pause now and then, and takes what each
// gateway's process then holds after its garbage was collected: what its requests hold
// is not among it, so a leak shows that would be lost in it. Runs whose memory is not
// judged have no pauses.
func (r *soak) quiets(ctx context.Context) {
	if r.o.Duration < judgedFrom {
		return
	}
	every(ctx, r.o.Duration/quietsOf(r.o.Duration), func() {
		r.turn.Lock()
		r.asking.Lock() // waits for what is under way; nobody begins
		var wg sync.WaitGroup
		for i, g := range r.gateways {
			wg.Go(func() {
				if s, ok := g.collected(ctx, r.began); ok {
					s.Kept = float64(kept(int(g.pid.Load()), []string{g.monolith.addr, g.lenient.addr, g.strict.addr}))
					r.calm[i] = append(r.calm[i], s)
				}
			})
		}
		wg.Wait()
		r.asking.Unlock()
		r.turn.Unlock()
	})
}

// collections are waited for: the first may have begun before it was quiet, pools give up
// what they hold at the second from then on, and what has a finalizer goes at the one behind it.
const collections = 4

// collected asks a process what it holds until it has collected its garbage, which the
// asking makes; false: it does not come about.
func (g *gateway) collected(ctx context.Context, since time.Time) (Sample, bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	first, there := g.sample(ctx, since)
	for s := first; there; s, there = g.sample(ctx, since) {
		if s.Collections < first.Collections {
			first = s // of another process
		}
		if s.Collections >= first.Collections+collections {
			return s, true
		}
	}
	return Sample{}, false
}

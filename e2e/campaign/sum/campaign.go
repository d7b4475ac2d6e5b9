// Package sum runs every mutation on every family that it befalls, with as
// many seeds as are wanted, and faithful candidates for comparison, and sums up
// what became of them.
package sum

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"whittle/e2e/campaign/engine"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
)

// Plan says how large a campaign is.
type Plan struct {
	Families  []*family.Family
	Mutations []*fault.Mutation
	// Pick chooses pairs of them. Nil: all that fit.
	Pick func(m *fault.Mutation, f *family.Family) bool
	// Seeds are runs of each pair, Faithful of each family's faithful candidate.
	Seeds, Faithful int
	// First is the first seed.
	First uint64
	// Waits is how many times as many requests a faithful candidate has (0: so many that the
	// end of its shift is seen).
	Waits int
	// Measured is how many requests a pair's touched share is measured by.
	Measured int
	// Settings of each run.
	Settings engine.Settings
	// Progress gets the number of runs that are done, one call at a time. Nil: nobody.
	Progress func(done, all int)
}

// Pair is a mutation of a family, and the runs with it.
type Pair struct {
	Family   *family.Family
	Mutation *fault.Mutation // nil: faithful
	Touch    engine.Touch
	Runs     []engine.Result
}

const (
	// Rare is the share of touched requests from which a mutation is to be
	// caught.
	Rare = 1.0 / 400
	// waits is Plan.Waits where it is 0.
	waits = 3
	// afterwards is how many requests a faithful candidate has, at most, when it has all
	// users.
	afterwards = 5000
	// fewUsers is how many users every fifth run has.
	fewUsers = 200
	// nearby: below so many times Rare a share is measured again by ten times as
	// many requests.
	nearby = 3.0
)

// Run runs the plan on all cores. What it gives is a pair for each mutation and
// family that it touches, and one for each family's faithful candidate, all in
// the plan's order.
func Run(ctx context.Context, p Plan) (mutated, faithful []*Pair, err error) {
	for _, f := range p.Families {
		faithful = append(faithful, &Pair{Family: f, Runs: make([]engine.Result, p.Faithful)})
	}
	fits := []*Pair{}
	for _, m := range p.Mutations {
		for _, f := range p.Families {
			if m.Fits(f) && (p.Pick == nil || p.Pick(m, f)) {
				fits = append(fits, &Pair{Family: f, Mutation: m, Runs: make([]engine.Result, p.Seeds)})
			}
		}
	}
	if err := parallel(ctx, len(fits), func(i int) error { return measure(p, fits[i]) }); err != nil {
		return nil, nil, err
	}
	for _, pair := range fits {
		if pair.Mutation.Late || pair.Touch.Share() > 0 {
			mutated = append(mutated, pair)
		}
	}
	var jobs []job
	for _, list := range [][]*Pair{faithful, mutated} {
		for _, pair := range list {
			for i := range pair.Runs {
				jobs = append(jobs, job{pair, i})
			}
		}
	}
	var mu sync.Mutex
	done := 0
	err = parallel(ctx, len(jobs), func(i int) error {
		if err := jobs[i].run(p); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; p.Progress != nil {
			p.Progress(done, len(jobs))
		}
		return nil
	})
	return mutated, faithful, err
}

func measure(p Plan, pair *Pair) error {
	if pair.Mutation.Late {
		return nil
	}
	var err error
	pair.Touch, err = engine.Measure(pair.Family, pair.Mutation, 1, p.Measured)
	if s := pair.Touch.Share(); err == nil && s < Rare*nearby {
		pair.Touch, err = engine.Measure(pair.Family, pair.Mutation, 2, 10*p.Measured)
	}
	return err
}

// job is one run of a pair.
type job struct {
	pair *Pair
	i    int
}

func (j job) run(p Plan) error {
	s := p.Settings
	if j.i%5 == 4 {
		s.Users = fewUsers
	}
	if j.pair.Mutation == nil {
		s.Requests, s.Live = cmp.Or(p.Waits, waits)*s.Requests, min(s.Live, afterwards)
	}
	r, err := engine.Run(j.pair.Family, j.pair.Mutation, p.First+uint64(j.i), s)
	if err != nil {
		return fmt.Errorf("run %s, %s, seed %d: %w", r.Family, r.Mutation, p.First+uint64(j.i), err)
	}
	j.pair.Runs[j.i] = r
	return nil
}

// parallel does n things on all cores, until one fails or ctx ends.
func parallel(ctx context.Context, n int, do func(i int) error) error {
	g, under := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < n && under.Err() == nil; i++ {
		g.Go(func() error { return do(i) })
	}
	return cmp.Or(g.Wait(), context.Cause(ctx))
}

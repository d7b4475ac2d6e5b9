package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"whittle"
)

// Account is a route's ledger at the end, next to what its users sent.
type Account struct {
	Gateway string
	Route   string
	// Sent were certainly received, Uncertain perhaps.
	Sent      int64
	Uncertain int64
	Ledger    whittle.Ledger
	Whole     bool
	Text      string
}

// accounts waits until nothing is under way, and holds each ledger to its sum and to
// what was sent.
func (r *soak) accounts(ctx context.Context) ([]Account, error) {
	var all []Account
	for _, g := range r.gateways {
		for _, route := range g.routes() {
			l, err := g.atRest(ctx, route)
			if err != nil {
				return all, err
			}
			s := r.tally.route(g.name, route)
			a := Account{Gateway: g.name, Route: g.match(route), Sent: s.certain.Load(), Uncertain: s.uncertain.Load(), Ledger: l, Text: l.Account()}
			a.Whole = l.Total == l.Sum() && l.Pending == 0 && l.Total >= a.Sent && l.Total <= a.Sent+a.Uncertain
			all = append(all, a)
		}
	}
	return all, nil
}

// atRest is a route's ledger when nothing is pending and it does not move any more.
func (g *gateway) atRest(ctx context.Context, route string) (whittle.Ledger, error) {
	var last whittle.Ledger
	still := 0
	err := g.await(ctx, "the ledger of "+route+" to be at rest", func() (bool, error) {
		s, err := g.client.Route(ctx, g.match(route))
		if err != nil {
			return false, err
		}
		const stillFor = 60 // polls: longer than a save takes
		if s.Ledger.Total != last.Total || s.Ledger.Pending > 0 {
			still = 0
		}
		last = s.Ledger
		still++
		return still > stillFor, nil
	})
	return last, err
}

// Rest is what a gateway holds when nobody asks any more, next to what it held before
// the first request.
type Rest struct {
	Gateway       string
	Before, After Sample
	Clean         bool
	Said          string
}

// rests drops the connections that are kept to upstreams, by a reload, and waits for
// each process to hold no more than in the beginning.
func (r *soak) rests(ctx context.Context) []Rest {
	all := make([]Rest, len(r.gateways))
	var wg sync.WaitGroup
	for i, g := range r.gateways {
		wg.Go(func() { all[i] = g.rest(ctx, r.before[i]) })
	}
	wg.Wait()
	return all
}

func (g *gateway) rest(ctx context.Context, before Sample) Rest {
	rest := Rest{Gateway: g.name, Before: before}
	err := g.reload(ctx, true, func(s *setting) {
		s.another()
		s.Build++
		s.Extra = false
	})
	g.client.Close() // what it keeps is not the gateway's
	if err == nil {
		err = g.await(ctx, "its goroutines and files to be gone", func() (bool, error) {
			var ok bool
			rest.After, ok = g.sample()
			return ok && !slices.ContainsFunc(g.old, there) && rest.After.Goroutines <= rest.Before.Goroutines && rest.After.Files <= rest.Before.Files, nil
		})
	}
	if rest.Clean = err == nil; err != nil {
		rest.Said = err.Error()
	}
	return rest
}

// baseline samples each gateway when it has settled.
func (r *soak) baseline(ctx context.Context) error {
	r.before = make([]Sample, len(r.gateways))
	errs := make([]error, len(r.gateways))
	var wg sync.WaitGroup
	for i, g := range r.gateways {
		wg.Go(func() {
			if r.before[i], errs[i] = g.settled(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("sample %s: %w", g.name, errs[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// settled is what it holds when that has not changed for some time.
func (g *gateway) settled(ctx context.Context) (last Sample, err error) {
	var seen []float64
	err = g.await(ctx, "its goroutines to settle", func() (bool, error) {
		if s, ok := g.sample(); ok {
			last = s
			seen = append(seen, s.Goroutines)
		}
		const steady = 10
		n := len(seen)
		return n > steady && slices.Max(seen[n-steady:]) == slices.Min(seen[n-steady:]), nil
	})
	return last, err
}

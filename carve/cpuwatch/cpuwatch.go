// Package cpuwatch reads the CPU time of the processes behind guarded routes from their
// metrics pages, for the CPU guard.
package cpuwatch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/carve/config"
	"whittle/profile/collect"
)

// How the pages of the processes behind guarded routes are read: next to the
// requests, never in their way.
const (
	cpuEvery  = 5 * time.Second
	cpuWithin = 3 * time.Second // a page that takes longer is left out this time
	cpuAtOnce = 8
)

// Watch reads what the routes' processes use, for the guards.
type Watch struct {
	// Config is the one in force: it may change meanwhile.
	Config func() *config.File
	// Reading takes what both sides of a route have used.
	Reading func(route string, used whittle.CPUReading)
	Log     *slog.Logger

	// silent are the pages that gave nothing last time, so that each is
	// complained of once.
	silent map[string]bool
}

// Run reads every few seconds until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(cpuEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.Look(ctx)
		}
	}
}

// Look reads every page once and hands on what they say.
func (w *Watch) Look(ctx context.Context) {
	f := w.Config()
	pages := map[string]bool{}
	for i := range f.Routes {
		if r := &f.Routes[i]; cpuGuarded(r) {
			pages[f.Monolith.Metrics], pages[r.Candidate.Metrics] = true, true
		}
	}
	if len(pages) == 0 {
		return
	}
	read := w.read(ctx, slices.Sorted(maps.Keys(pages)))
	for i := range f.Routes {
		r := &f.Routes[i]
		if !cpuGuarded(r) {
			continue
		}
		monolith, ok := read[f.Monolith.Metrics]
		candidate, both := read[r.Candidate.Metrics]
		if ok && both {
			w.Reading(r.Name, whittle.CPUReading{At: time.Now(), Monolith: monolith, Candidate: candidate})
		}
	}
}

func cpuGuarded(r *whittle.Route) bool { return r.Candidate != nil && r.Guard.CPU > 0 }

// read gives what each page says; those that say nothing are missing.
func (w *Watch) read(ctx context.Context, pages []string) map[string]whittle.CPUUse {
	ctx, cancel := context.WithTimeout(ctx, cpuWithin)
	defer cancel()
	var mu sync.Mutex // guards the following
	out, failed := map[string]whittle.CPUUse{}, map[string]error{}
	var g errgroup.Group
	g.SetLimit(cpuAtOnce)
	for _, page := range pages {
		g.Go(func() error {
			use, err := collect.Usage(ctx, page)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[page] = err
				return nil // it is the other pages' matter no more than this one's
			}
			out[page] = use
			return nil
		})
	}
	_ = g.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // whittle is ending
	}
	for _, page := range pages {
		if err := failed[page]; err != nil && !w.silent[page] {
			w.Log.Warn("the guard of CPU per request reads nothing", "err", err)
		}
		if w.silent == nil {
			w.silent = map[string]bool{}
		}
		w.silent[page] = failed[page] != nil
	}
	return out
}

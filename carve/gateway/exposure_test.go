package gateway

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// TestRoutesOfOneCandidateShareTheExposure: behind ten routes one candidate breaks.
// No more users meet it than behind one, although the routes differ in how they call
// it, and the monolith serves everybody.
func TestRoutesOfOneCandidateShareTheExposure(t *testing.T) {
	const routes, users, exposure = 10, 20, 50
	var met atomic.Int64
	broke := make(chan struct{})
	c := hanging(t, false, func(w http.ResponseWriter, _ *http.Request, end <-chan struct{}) {
		met.Add(1)
		select {
		case <-broke:
		case <-end:
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	m := httptest.NewServer(says(200, "the monolith's"))
	t.Cleanup(m.Close)
	o := Options{Monolith: upstreamAt(m.URL)}
	for i := range routes {
		spec := everything()
		spec.Name = fmt.Sprintf("/%d", i)
		spec.Match.Pattern, spec.Mirror.Sample = spec.Name, 0
		candidate := upstreamAt(c.URL)
		candidate.Timeout += time.Duration(i) // each is an upstream of its own
		spec.Candidate, spec.Guard.Exposure = &candidate, exposure
		o.Routes = append(o.Routes, spec)
	}
	ls, urls := facing(t, 1)
	g := behind(t, ls[0], o)
	for _, r := range o.Routes {
		g.Apply(r.Name, whittle.Position{Generation: 1, Share: whittle.All, Phase: whittle.PhaseShift})
	}
	var all sync.WaitGroup
	var served atomic.Int64
	for i := range routes * users {
		all.Go(func() {
			status, text := ask(t, http.MethodGet, fmt.Sprintf("%s/%d", urls[0], i%routes), "", "X-User", fmt.Sprint(i))
			if status != http.StatusOK || text != "the monolith's" {
				t.Errorf("a user got %d %.40q", status, text)
			}
			served.Add(1)
		})
	}
	waits(t, time.Minute, func() bool { return met.Load() >= exposure && served.Load() == routes*users-exposure })
	close(broke)
	all.Wait()
	if n := met.Load(); n != exposure {
		t.Errorf("%d users met the broken candidate", n)
	}
}

// TestAResetForgetsThePace: how slow the candidate was before it was mended does not
// hold up the breaker.
func TestAResetForgetsThePace(t *testing.T) {
	s := newRouteState("/x", nil)
	apply := func(generation uint64, share whittle.Share, phase whittle.Phase) {
		s.apply(whittle.Position{Generation: generation, Share: share, Phase: phase})
	}
	apply(1, 100, whittle.PhaseShift)
	s.breaker.ObserveMirrored(time.Minute)
	apply(2, 0, whittle.PhaseRolledBack)
	if s.breaker.Slowest() == 0 {
		t.Error("a rollback forgets the pace")
	}
	apply(3, 0, whittle.PhaseShadow)
	if got := s.breaker.Slowest(); got != 0 {
		t.Errorf("after the reset the slowest is %v", got)
	}
}

// TestALackOfExposureIsSeen: what a sound candidate does not get because of
// guard.exposure is counted and logged, with what all of it would need.
func TestALackOfExposureIsSeen(t *testing.T) {
	const exposure, users = 5, 20
	met, release := make(chan struct{}, users), make(chan struct{})
	c := hanging(t, false, func(w http.ResponseWriter, _ *http.Request, end <-chan struct{}) {
		met <- struct{}{}
		select {
		case <-release:
		case <-end:
		}
	})
	m := httptest.NewServer(says(200, "the monolith's"))
	t.Cleanup(m.Close)
	spec := everything()
	candidate := upstreamAt(c.URL)
	spec.Candidate, spec.Guard.Exposure, spec.Mirror.Sample = &candidate, exposure, 0
	var log bytes.Buffer
	ls, urls := facing(t, 1)
	g := behind(t, ls[0], Options{Monolith: upstreamAt(m.URL), Routes: []whittle.Route{spec}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	g.Apply("/work", whittle.Position{Generation: 1, Share: whittle.All, Phase: whittle.PhaseShift})
	var all sync.WaitGroup
	for i := range users {
		get := func() { ask(t, http.MethodGet, urls[0]+"/work", "", "X-User", fmt.Sprint(i)) }
		if i < exposure {
			all.Go(get)
			<-met
			continue
		}
		get()
	}
	close(release)
	all.Wait()
	counts := &g.table.Load().routes["/work"].counts
	if full, served := counts.full.Load(), counts.served.Load(); full != users-exposure || served != exposure {
		t.Errorf("%d went to the monolith, %d to the candidate", full, served)
	}
	if n := strings.Count(log.String(), "guard.exposure allows"); n == 0 || n > 5 || !strings.Contains(log.String(), "all_would_need=6") {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}

// TestThePaceGoesAlong: a process that replaces another knows how slow the candidate is,
// if it has the same one.
func TestThePaceGoesAlong(t *testing.T) {
	of := func(build string) *Gateway {
		u := quick("http://127.0.0.1:1")
		u.Build = build
		spec := everything()
		spec.Candidate = &u
		g, err := New(Options{Monolith: quick("http://127.0.0.1:1"), Routes: []whittle.Route{spec}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close(context.Background()) })
		return g
	}
	old := of("1")
	const name = "/work"
	old.LearnPace(name, "another", time.Minute)
	if candidate, slowest := old.Pace(name); slowest != 0 || candidate == "" {
		t.Errorf("at first %v is known of %q", slowest, candidate)
	}
	old.table.Load().routes[name].breaker.ObserveMirrored(time.Second)
	candidate, slowest := old.Pace(name)
	for build, want := range map[string]time.Duration{"1": time.Second, "2": 0} {
		next := of(build)
		next.LearnPace(name, candidate, slowest)
		next.LearnPace("no such route", candidate, slowest)
		next.Apply(name, whittle.Position{Generation: 7, Phase: whittle.PhaseShadow}) // as control begins
		if _, got := next.Pace(name); got != want {
			t.Errorf("with build %s %v is known", build, got)
		}
	}
	if _, got := old.Pace("no such route"); got != 0 {
		t.Errorf("of a route that is not there %v is known", got)
	}
}

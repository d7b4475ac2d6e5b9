package control_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
)

// logged makes a rig whose controller's log lines are kept.
func logged(t *testing.T, disk *memory, routes ...whittle.Route) (h *rig, count func(text string) int) {
	t.Helper()
	h = newRig(t, disk, routes...)
	var mu sync.Mutex // guards the following
	var lines []string
	o := h.options(routes)
	o.Log = slog.New(&asking{Handler: slog.DiscardHandler, line: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, text)
	}})
	c, err := control.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.c = c
	return h, func(text string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range lines {
			if strings.Contains(l, text) {
				n++
			}
		}
		return n
	}
}

// TestMetricsAreTheStatus: the share is a part of 1, and of the phases and verdicts
// one is 1.
func TestMetricsAreTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shifted(t, &memory{})
		pass(2 * time.Second)
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(h.c)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				label := ""
				for _, l := range m.GetLabel() {
					if l.GetName() != "route" {
						label += " " + l.GetValue()
					}
				}
				got[f.GetName()+label] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		for series, want := range map[string]float64{
			"whittle_share": 0.01, "whittle_evidence_exchanges": 1, "whittle_decisions_kept": 1, "whittle_held": 0,
			"whittle_phase " + string(whittle.PhaseShift): 1, "whittle_phase " + string(whittle.PhaseShadow): 0, "whittle_phase " + string(whittle.PhaseLive): 0,
			"whittle_verdict " + string(whittle.Equivalent): 1, "whittle_verdict " + string(whittle.Undecided): 0, "whittle_verdict " + string(whittle.Different): 0,
		} {
			if v, ok := got[series]; !ok || v != want {
				t.Errorf("%s is %v, want %v", series, v, want)
			}
		}
		_ = h.stop()
	})
}

// TestADiskThatFailsIsReportedOnce: one line when saving begins to fail and one when it
// succeeds again, and every attempt is counted.
func TestADiskThatFailsIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h, count := logged(t, disk, spec())
		shift(h)
		for range 2 {
			before, counted := disk.attempts(), metric(t, h.c, "whittle_state_save_failures_total")
			disk.set(func(m *memory) { m.fail = errFull })
			h.say(whittle.Equivalent)
			pass(10 * time.Second)
			failed := disk.attempts() - before
			disk.set(func(m *memory) { m.fail = nil })
			if n := metric(t, h.c, "whittle_state_save_failures_total") - counted; failed < 2 || n != float64(failed) {
				t.Errorf("%v failures are counted of %d", n, failed)
			}
			pass(5 * time.Second)
		}
		if n, again := count("state cannot be saved"), count("state is saved again"); n != 2 || again != 2 {
			t.Errorf("%d lines that saving fails and %d that it succeeds, of 2 times each", n, again)
		}
		_ = h.stop()
	})
}

// TestATripWithoutUsersIsOver: a breaker's word while no user is on the candidate, or
// under the very position that took them off, does not end the shift that follows.
func TestATripWithoutUsersIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{spec()}, noSwap); err != nil { // another generation, still in shadow
			t.Fatal(err)
		}
		h.trip("in shadow")
		pass(time.Second)
		h.say(whittle.Equivalent)
		pass(time.Second)
		if h.share() != 100 {
			t.Errorf("share %d after a trip in shadow", h.share())
		}
		if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Rollback}); err != nil {
			t.Fatal(err)
		}
		zero := h.latest[name].Generation
		if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}); err != nil {
			t.Fatal(err)
		}
		h.c.Tripped(name, "of the monolith's position", zero)
		pass(time.Second)
		if s := h.status(); h.share() != 100 || s.Phase != whittle.PhaseShift {
			t.Errorf("share %d, %s after a trip under the position of 0", h.share(), s.Phase)
		}
		_ = h.stop()
	})
}

// TestWhatRaisesNothingNeedsNoDisk: a shift that has come to its end is live at once,
// also while nothing can be saved.
func TestWhatRaisesNothingNeedsNoDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec(func(r *whittle.Route) { r.Rollout.Steps = []whittle.Share{whittle.All} }))
		h.run()
		h.say(whittle.Equivalent)
		pass(time.Second)
		if h.share() != whittle.All {
			t.Fatalf("share %d", h.share())
		}
		disk.set(func(m *memory) { m.fail = errFull })
		h.users(whittle.Candidate, 200, 5)
		pass(11 * time.Second)
		if p := h.latest[name]; p.Phase != whittle.PhaseLive || p.Share != whittle.All {
			t.Errorf("%+v in force", p)
		}
		disk.set(func(m *memory) { m.fail = nil })
		_ = h.stop()
	})
}

// TestStartDecidesOnlyAFall: what else is due when whittle begins is decided once it
// runs. The gap in the ledger lasts until requests are taken.
func TestStartDecidesOnlyAFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		last := func(r *whittle.Route) { r.Rollout.Steps, r.Rollout.Auto = []whittle.Share{whittle.All}, false }
		h := newRig(t, disk, spec(last))
		h.run()
		h.say(whittle.Equivalent)
		if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		saved := time.Now()
		pass(time.Minute)
		again := newRig(t, disk, spec(last, func(r *whittle.Route) {
			r.Rollout.Auto, r.Rollout.Hold, r.Rollout.MinRequests = true, 0, 0
		}))
		pass(time.Minute)
		again.c.Start()
		if p := again.latest[name]; p.Phase != whittle.PhaseShift || p.Share != whittle.All {
			t.Errorf("%+v in force before Run", p)
		}
		again.run()
		if p := again.latest[name]; p.Phase != whittle.PhaseLive {
			t.Errorf("%+v in force once it runs", p)
		}
		pass(2 * time.Second)
		if gap := again.status().Ledger.Gap; gap == nil || !gap.From.Equal(saved) || !gap.To.Equal(saved.Add(2*time.Minute)) {
			t.Errorf("the gap is %+v, saved at %v", gap, saved)
		}
		_ = again.stop()
	})
}

// TestARecordWithoutATime has no gap to show, and is taken all the same.
func TestARecordWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		pass(2 * time.Second)
		_ = h.stop()
		r := disk.records[name]
		from := strings.Index(string(r.Ledger), `,"saved":`)
		if from < 0 {
			t.Fatalf("the ledger is %s", r.Ledger)
		}
		r.Ledger = []byte(string(r.Ledger[:from]) + "}")
		disk.records[name] = r
		again := newRig(t, disk, spec())
		again.run()
		if s := again.status(); again.share() != 100 || s.Ledger.Gap != nil {
			t.Errorf("share %d, gap %+v", again.share(), s.Ledger.Gap)
		}
		_ = again.stop()
	})
}

// TestEvidenceIsSavedOnceASecond: however often something new wakes the route.
func TestEvidenceIsSavedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		pass(3 * time.Second)
		before := disk.attempts()
		for range 20 {
			h.c.CPU(name, whittle.CPUReading{At: time.Now()})
			synctest.Wait() // no time passes
		}
		if n := disk.attempts() - before; n > 1 {
			t.Errorf("%d saves at one moment", n)
		}
		for range 40 {
			h.c.CPU(name, whittle.CPUReading{At: time.Now()})
			pass(100 * time.Millisecond)
		}
		if n := disk.attempts() - before; n < 3 || n > 5 {
			t.Errorf("%d saves in 4 seconds", n)
		}
		_ = h.stop()
	})
}

// TestAReloadPutsAPositionInForce: what is shown after it is the position that the
// gateway has, with another candidate and with the same one, and nothing is logged as a
// trouble.
func TestAReloadPutsAPositionInForce(t *testing.T) {
	for label, change := range map[string]func(*whittle.Route){
		"same":    func(*whittle.Route) {},
		"another": func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} },
		"gone":    func(r *whittle.Route) { r.Name = "GET /other" },
	} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, count := logged(t, &memory{}, spec())
				shift(h)
				before := h.latest[name].Generation
				next := spec(change)
				if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{next}, noSwap); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Second)
				if s, err := h.c.Route(next.Name); err != nil || s.Generation != h.latest[next.Name].Generation || s.Share != h.inForce[next.Name] {
					t.Errorf("shown is %d at %d, in force %+v (%v)", s.Share, s.Generation, h.latest[next.Name], err)
				}
				if h.latest[name].Generation <= before {
					t.Errorf("the reload left %+v in force", h.latest[name])
				}
				if n := count("reload") + count("cannot be saved"); n != 0 {
					t.Errorf("%d lines of trouble", n)
				}
				_ = h.stop()
			})
		})
	}
}

// TestTroubleInAReloadIsLogged: a route that is gone and cannot be saved, and one that
// cannot begin afresh, each in one line. The latter gives its new candidate no user by
// what was decided for the old one, and begins afresh with a reload that lets it.
func TestTroubleInAReloadIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h, count := logged(t, disk, spec())
		shift(h)
		mended := spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} })
		err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, func() error {
			h.set(func() { h.refused = whittle.Errorf(whittle.Internal, "no judge today") })
			return nil
		})
		if err != nil || count("reload") != 1 || h.share() != 0 {
			t.Errorf("share %d, %v, %d lines", h.share(), err, count("reload"))
		}
		h.set(func() { h.refused, h.word = nil, whittle.Undecided })
		pass(time.Minute)
		if h.share() != 0 {
			t.Errorf("share %d of a candidate that no judge has seen", h.share())
		}
		if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, noSwap); err != nil || h.share() != 0 {
			t.Errorf("share %d, %v", h.share(), err)
		}
		pass(2 * time.Second)
		if s := h.status(); s.Phase != whittle.PhaseShadow {
			t.Errorf("it did not begin afresh: %s", s.Phase)
		}
		disk.set(func(m *memory) { m.fail = errFull })
		if err := h.c.Reload(whittle.Upstream{}, nil, noSwap); err != nil || count("of a route that is gone cannot be saved") != 1 {
			t.Errorf("%v, %d lines", err, count("of a route that is gone cannot be saved"))
		}
		disk.set(func(m *memory) { m.fail = nil })
		_ = h.stop()
	})
}

// TestARiseOutlivesAReloadOfItsSteps: a rise that is on its way to the disk gets there
// where the reload leaves its steps alone, and is given up where they are others.
func TestARiseOutlivesAReloadOfItsSteps(t *testing.T) {
	for label, same := range map[string]bool{"same steps": true, "other steps": false} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &memory{}
				h := shifted(t, disk)
				release := make(chan struct{})
				disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
				response := make(chan error, 1)
				go func() { response <- h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}) }()
				synctest.Wait()
				next := spec(func(r *whittle.Route) {
					if !same {
						r.Rollout.Steps = []whittle.Share{100, 5000, whittle.All}
					}
				})
				if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{next}, noSwap); err != nil {
					t.Fatal(err)
				}
				disk.set(func(m *memory) { m.hang = nil })
				close(release)
				err := <-response
				pass(time.Second)
				if same && (err != nil || h.share() != 2500) {
					t.Errorf("share %d, %v", h.share(), err)
				}
				if !same && (whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "steps are being reloaded") || h.share() != 100) {
					t.Errorf("share %d, %v", h.share(), err)
				}
				if slices.Contains(h.journal.take(), "applied 2500") != same {
					t.Errorf("2500 was in force: %v", !same)
				}
				_ = h.stop()
			})
		})
	}
}

// Runs that go on at a takeover do so then alone: a route that leaves the config later and comes
// back has not counted meanwhile, and its ledger says so.
func TestARouteThatComesBackAfterATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		h.run()
		pass(2 * time.Second)
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		o := h.options([]whittle.Route{spec()})
		o.Alive = map[string][]uint64{name: {7}}
		var err error
		if h.c, err = control.New(o); err != nil {
			t.Fatal(err)
		}
		h.run()
		pass(2 * time.Second)
		if gap := h.status().Ledger.Gap; gap != nil {
			t.Errorf("the takeover left the gap %+v", gap)
		}
		gone := time.Now()
		for i, routes := range [][]whittle.Route{nil, {spec()}} {
			if err := h.c.Reload(whittle.Upstream{}, routes, noSwap); err != nil {
				t.Fatalf("reload %d: %v", i, err)
			}
			pass(time.Minute)
		}
		if gap := h.status().Ledger.Gap; gap == nil || gap.From.Before(gone) || gap.To.Sub(gap.From) < time.Minute {
			t.Errorf("it was away for a minute, and its ledger has the gap %+v", gap)
		}
		_ = h.stop()
	})
}

package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

func TestLedgerAddsUpInEverySnapshot(t *testing.T) {
	var l ledger
	const workers, each = 8, 5000
	done := make(chan struct{})
	var watching, wg sync.WaitGroup
	watching.Go(func() {
		for {
			s := l.snapshot()
			if s.Total != s.Sum() || s.Pending < 0 {
				t.Errorf("total %d, sum %d, pending %d", s.Total, s.Sum(), s.Pending)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range each {
				var tk ledgerEntry
				l.open(&tk)
				settle := []func(){func() { tk.settle(whittle.FateCompared, "") }, tk.failed, tk.shed, func() { tk.skip(whittle.SkipSampled) }, func() { tk.skip("judge's own") }}
				// Two goroutines race to settle, as a worker and a shutdown do.
				var race sync.WaitGroup
				race.Go(settle[rng.IntN(len(settle))])
				settle[rng.IntN(len(settle))]()
				race.Wait()
			}
		})
	}
	wg.Wait()
	close(done)
	watching.Wait()
	s := l.snapshot()
	if s.Total != workers*each || s.Pending != 0 || s.Total != s.Sum() {
		t.Errorf("at rest: %+v, want a total of %d and nothing pending", s, workers*each)
	}
}

// TestLedgerReportsItsOwnFates: what whoever compares has counted is pending in a
// report, everything else is in it, and each report has a higher number.
func TestLedgerReportsItsOwnFates(t *testing.T) {
	var l ledger
	entries := make([]ledgerEntry, 7)
	for i := range entries {
		l.open(&entries[i])
	}
	entries[0].settle(whittle.FateCompared, "")
	entries[1].failed()
	entries[2].shed()
	entries[3].skip(whittle.SkipNotSafe)
	entries[4].skip("of the judge")
	if !entries[5].claim() || entries[5].claim() {
		t.Error("a request is claimed by nobody, or twice")
	}
	entries[5].observed(whittle.FateCompared, "", true)
	entries[5].skip(whittle.SkipInterrupted) // too late

	first, second := l.report(), l.report()
	if first.Run == 0 || first.Run != second.Run || first.Seq != 1 || second.Seq != 2 {
		t.Errorf("reports %d of %d and %d of %d", first.Seq, first.Run, second.Seq, second.Run)
	}
	want := map[string]int64{whittle.SkipNotSafe: 1, "of the judge": 1}
	if got := second.Ledger; got.Total != 7 || got.Compared != 1 || got.Failed != 1 || got.Shed != 1 || got.Pending != 2 || !maps.Equal(got.Skipped, want) {
		t.Errorf("reported %+v", got)
	}
	if all := l.snapshot(); all.Compared != 2 || all.Pending != 1 || all.Total != 7 || all.Total != all.Sum() {
		t.Errorf("in all %+v", all)
	}
}

// TestLedgerGivesUpWhatIsBeingCompared: a shutdown that gives up a request which
// somebody is being shown counts it as interrupted here, and leaves its fate in
// reports open, so that it is in nobody's ledger twice.
func TestLedgerGivesUpWhatIsBeingCompared(t *testing.T) {
	for name, counted := range map[string]bool{"counted after all": true, "not counted": false} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			var tk ledgerEntry
			l.open(&tk)
			if !tk.claim() {
				t.Fatal("not to be claimed")
			}
			tk.skip(whittle.SkipInterrupted)
			tk.observed(whittle.FateCompared, "", counted)
			if s := l.snapshot(); s.Skipped[whittle.SkipInterrupted] != 1 || s.Pending != 0 || s.Compared != 0 {
				t.Errorf("in all %+v", s)
			}
			if r := l.report().Ledger; r.Total != 1 || r.Pending != 1 || r.Sum() != 1 {
				t.Errorf("reported %+v", r)
			}
		})
	}
}

// TestReasonsAreInTheGuide: whoever reads a ledger finds each reason on the gateway's page.
func TestReasonsAreInTheGuide(t *testing.T) {
	page := fatal.Read(t, "../../docs/gateway.md")
	for _, reason := range append(skipNames[:], skipDefect) {
		fatal.Has(t, page, "| `"+reason+"` |")
	}
}

// TestInterruptedElsewhere: requests of a process that was replaced are in the ledger, once, where
// the route is still there.
func TestInterruptedElsewhere(t *testing.T) {
	u := quick("http://127.0.0.1:1")
	spec := everything()
	spec.Candidate = &u
	g := made(t, Options{Monolith: u, Routes: []whittle.Route{spec}})
	g.Interrupted(spec.Name, 3)
	g.Interrupted(spec.Name, -1)
	g.Interrupted("GET /gone", 1)
	if l := g.Ledger(spec.Name); l.Total != 3 || l.Pending != 0 || l.Skipped[whittle.SkipInterrupted] != 3 {
		t.Errorf("%+v", l)
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
	m := serving(t, says(200, "the monolith's"))
	spec := everything()
	candidate := upstreamAt(c.URL)
	spec.Candidate, spec.Guard.Exposure, spec.Mirror.Sample = &candidate, exposure, 0
	var log bytes.Buffer
	g, url := running(t, Options{Monolith: upstreamAt(m), Routes: []whittle.Route{spec}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	g.Apply("/work", whittle.Position{Generation: 1, Share: whittle.All, Phase: whittle.PhaseShift})
	var all sync.WaitGroup
	for i := range users {
		get := func() { ask(t, http.MethodGet, url+"/work", "", "X-User", fmt.Sprint(i)) }
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

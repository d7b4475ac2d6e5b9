package control_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

// Whatever save was the last before the process was killed, the next one goes
// on with the share that was on disk, and its ledger adds up and has as many
// compared as the judge has seen.
func TestKilledAfterAnySave(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		total := int64(1) // was compared to begin the shift
		for range 40 {
			h.mu.Lock()
			total += 7
			skipped := total / 7 * 2
			h.reports[name] = whittle.Ledger{Total: total, Skipped: map[string]int64{whittle.SkipSampled: skipped}, Pending: total - skipped}
			h.mu.Unlock()
			mirror(h, 200, 5)
			h.users(whittle.Candidate, 200, 3)
			pass(700 * time.Millisecond)
		}
		h.trip("broken")
		pass(time.Second)
		_ = h.stop()
		if len(disk.history) < 20 {
			t.Fatalf("only %d saves", len(disk.history))
		}
		for i, rec := range disk.history {
			left := &memory{}
			left.set(func(m *memory) { m.records = maps.Clone(disk.records); m.records[name] = rec })
			again := newRig(t, left, spec())
			again.c.Start()
			fatal.Same(t, again.share(), shareIn(rec), "save %d: share in force", i)
			was, l := ledgerIn(t, rec), again.status().Ledger
			if was.Total != was.Sum() || l.Total != l.Sum() {
				t.Errorf("save %d: the ledger does not add up: %+v, restored %+v", i, was, l)
			}
			if l.Total != was.Total || l.Skipped[whittle.SkipInterrupted] != was.Pending || l.Pending != 0 {
				t.Errorf("save %d: %+v restored as %+v", i, was, l)
			}
			if l.Compared != was.Compared || l.Compared != int64(again.status().Verdict.Compared) {
				t.Errorf("save %d: %+v restored as %+v, with %d in the evidence", i, was, l, again.status().Verdict.Compared)
			}
		}
		if last := ledgerIn(t, disk.history[len(disk.history)-1]); last.Total != total || last.Compared != 201 || last.Skipped[whittle.SkipSampled] != 80 {
			t.Errorf("at last %+v, of %d requests", last, total)
		}
	})
}

// ledgerIn is the ledger of a record.
func ledgerIn(t *testing.T, r state.Record) whittle.Ledger {
	t.Helper()
	var own struct {
		Ledger whittle.Ledger `json:"ledger"`
	}
	fatal.If(t, json.Unmarshal(r.Ledger, &own))
	return own.Ledger
}

// A kill between the exchange that decides and the fall leaves evidence on disk that
// is DIFFERENT at a share above 0: nobody is put on the candidate again.
func TestDifferentOnDiskStartsOnTheMonolith(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		_ = h.stop()
		again := newRig(t, disk, spec())
		again.word = whittle.Different
		again.begin()
		again.c.Start()
		again.expectLog("applied 0")
		fatal.Same(t, again.status().Share, 100, "what the status shows")
		again.run()
		pass(time.Second)
		if s := again.status(); s.Share != 0 || s.Phase != whittle.PhaseRolledBack {
			t.Errorf("at last %+v", s)
		}
	})
}

func TestDamagedStateStartsOnTheMonolith(t *testing.T) {
	inBubbles(t, map[string]func(m *memory){
		"record":   func(m *memory) { m.corrupt = true },
		"position": func(m *memory) { r := m.records[name]; r.Rollout = []byte("{"); m.records[name] = r },
		"version":  func(m *memory) { r := m.records[name]; r.Rollout = []byte(`{"version":9}`); m.records[name] = r },
		"rollout": func(m *memory) {
			r := m.records[name]
			r.Rollout = []byte(`{"version":1,"rollout":{"version":1,"phase":"shadow","share_bp":5000}}`)
			m.records[name] = r
		},
		"evidence": func(m *memory) { r := m.records[name]; r.Judge = []byte("?"); m.records[name] = r },
		"guards":   func(m *memory) { r := m.records[name]; r.Guard = []byte("?"); m.records[name] = r },
	}, func(t *testing.T, damage func(m *memory)) {
		disk := &memory{}
		h := shifted(t, disk)
		_ = h.stop()
		disk.set(damage)
		again := newRig(t, disk, spec())
		again.word = whittle.Equivalent
		again.c.Start()
		s := again.status()
		if again.share() != 0 || s.Phase != whittle.PhaseShadow || s.Verdict.Compared != 0 {
			t.Fatalf("share %d, %+v", again.share(), s)
		}
		last := s.Timeline[len(s.Timeline)-1]
		if !strings.HasPrefix(last.Reason, "Evidence starts afresh, back in shadow: the saved ") || last.By != rollout.Self {
			t.Errorf("reported as %+v", last)
		}
	})
}

func TestAnotherCandidateStartsAfresh(t *testing.T) {
	inBubbles(t, map[string]func(*whittle.Route){
		"url":     func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} },
		"build":   func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: r.Candidate.URL, Build: "1.4.1"} },
		"rpc":     func(r *whittle.Route) { r.RPC = &whittle.RPC{Protocol: whittle.Twirp} },
		"compare": func(r *whittle.Route) { r.Compare.Kind = whittle.JSON },
	}, func(t *testing.T, change func(*whittle.Route)) {
		disk := &memory{}
		h := shifted(t, disk)
		_ = h.stop()
		again := newRig(t, disk, spec(change))
		again.run()
		s := again.status()
		last := s.Timeline[len(s.Timeline)-1]
		if again.share() != 0 || s.Verdict.Compared != 0 || last.From != 100 || last.To != 0 ||
			!strings.Contains(last.Reason, "the config has another") {
			t.Errorf("share %d, %+v", again.share(), last)
		}
	})
}

// TestAnotherMonolithStartsAfresh holds that evidence against one monolith is
// none against another, found at a start or by a reload, and that nothing else
// about the monolith costs the evidence.
func TestAnotherMonolithStartsAfresh(t *testing.T) {
	type another struct {
		monolith whittle.Upstream
		share    whittle.Share
	}
	inBubbles(t, map[string]another{
		"url":     {whittle.Upstream{URL: "http://127.0.0.1:4000"}, 0},
		"build":   {whittle.Upstream{URL: "http://127.0.0.1:3000", Build: "2026-11"}, 0},
		"same":    {whittle.Upstream{URL: "http://127.0.0.1:3000"}, 100},
		"timeout": {whittle.Upstream{URL: "http://127.0.0.1:3000", Timeout: time.Second, MaxConns: 7}, 100},
	}, func(t *testing.T, c another) {
		disk := &memory{}
		first := whittle.Upstream{URL: "http://127.0.0.1:3000"}
		began := newRigBefore(t, disk, first, spec())
		shift(began)
		mirror(began, 200, 10)
		_ = began.stop()
		again := newRigBefore(t, disk, c.monolith, spec())
		again.run()
		if s := again.status(); again.share() != c.share || (s.Verdict.Compared == 0) != (c.share == 0) {
			t.Errorf("after a restart: share %d, %d compared", again.share(), s.Verdict.Compared)
		}

		h := newRigBefore(t, &memory{}, first, spec())
		shift(h)
		h.say(whittle.Undecided) // or a fresh shift would start at once
		if err := h.c.Reload(c.monolith, []whittle.Route{spec()}, func() error {
			fatal.Same(t, h.share(), c.share, "share while the monolith is changed")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if s := h.status(); h.share() != c.share {
			t.Errorf("after a reload: share %d, %+v", h.share(), s.Timeline)
		}
		if skip := h.c.Observe(&whittle.Exchange{Route: name, At: time.Now().Add(-time.Millisecond)}).Skip; (skip == whittle.SkipStale) != (c.share == 0) {
			t.Errorf("after a reload: an exchange from before was skipped as %q", skip)
		}
	})
}

// TestDifferentIsNotForcedByAReset holds that a reset, a restart and a change of
// the config there and back leave it refused to force past DIFFERENT, until so
// many exchanges were compared afresh or another build is named.
func TestDifferentIsNotForcedByAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wants := func(r *whittle.Route) { r.Compare.MinCompared = 20 }
		build := func(r *whittle.Route) {
			wants(r)
			r.Candidate = &whittle.Upstream{URL: r.Candidate.URL, Build: "1.4.1"}
		}
		force := func(h *rig) error {
			return h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "now"})
		}
		refused := func(h *rig, when, want string) {
			t.Helper()
			if err := force(h); err == nil || !strings.Contains(err.Error(), want) || h.share() != 0 {
				t.Errorf("%s: share %d, %v, want %q", when, h.share(), err, want)
			}
		}
		// mirrored lets n exchanges of this moment be compared, with that word on
		// them.
		mirrored := func(h *rig, n int, word whittle.State) {
			h.set(func() { h.word = word })
			for range n {
				x := exchange(200)
				x.At = time.Now()
				h.c.Observe(x)
			}
		}
		disk := &memory{}
		h := newRig(t, disk, spec(wants))
		h.run()
		mirrored(h, 9, whittle.Different)
		pass(time.Second)
		refused(h, "different", "the verdict is DIFFERENT")
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Reset}))
		mirrored(h, 5, whittle.Undecided)
		refused(h, "after a reset", "only 5 of 20")
		_ = h.stop()

		h = newRig(t, disk, spec(wants))
		h.run()
		refused(h, "after a restart", "only 5 of 20")
		for _, change := range []func(*whittle.Route){build, wants} {
			fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{spec(change)}, noSwap))
		}
		refused(h, "after another build and back", "only 0 of 20")
		mirrored(h, 20, whittle.Undecided)
		if err := force(h); err != nil || h.share() != 100 {
			t.Errorf("after 20 afresh: share %d, %v", h.share(), err)
		}
		_ = h.stop()

		disk = &memory{}
		h = newRig(t, disk, spec(wants))
		h.run()
		mirrored(h, 1, whittle.Different)
		pass(time.Second)
		mirrored(h, 1, whittle.Undecided)
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{spec(build)}, noSwap))
		if err := force(h); err != nil || h.share() != 100 {
			t.Errorf("another build: share %d, %v", h.share(), err)
		}
	})
}

func TestLastWordsBeforeTheEndAreHeard(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		err := h.stop()
		h.trip("broken at the end") // nobody listens any more
		fatal.If(t, err)
		fatal.Same(t, shareIn(disk.records[name]), 100, "share on disk")

		h = newRig(t, disk, spec())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.c.Start()
		h.trip("broken at the end")
		fatal.If(t, h.c.Run(ctx))
		fatal.Same(t, shareIn(disk.records[name]), 0, "share on disk after a trip")
	})
}

func TestOffStaysOffWithAnotherCandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		h.run()
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Off}))
		fatal.Same(t, h.c.Observe(exchange(200)).Skip, whittle.SkipOff, "observed while off")
		_ = h.stop()
		again := newRig(t, disk, spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} }))
		fatal.Same(t, again.status().Phase, whittle.PhaseOff, "switched itself on")
	})
}

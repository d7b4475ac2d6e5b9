package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

// sheets is a disk in memory.
type sheets map[string]state.Record

func (r sheets) Load(route string) (state.Record, error) { return r[route], nil }

func (r sheets) Save(route string, rec state.Record) error {
	r[route] = rec
	return nil
}

// TestModel runs the real control and the real gateway's counters, breaker and
// positions through random requests, verdicts, breaches, trips (whose notices come
// late, twice or never), orders, reloads that fail, saves that fail with and without
// having written, kills and restarts, and holds after each step: the share in force
// is the model's, the ledger has each request once and adds up, a fall is in force
// at once, a rise only once it is on the disk, nothing rises over DIFFERENT.
//
// MODEL_SEED and MODEL_STEPS take another walk: MODEL_SEED=7 MODEL_STEPS=1000000.
func TestModel(t *testing.T) {
	seed, steps := number(t, "MODEL_SEED", 1), number(t, "MODEL_STEPS", 100_000)
	walkModel(t, seed, int(steps), sheets{})
}

// TestModelOnADisk is a shorter walk on the real state file.
func TestModelOnADisk(t *testing.T) {
	s, err := state.Open(filepath.Join(t.TempDir(), "whittle.db"))
	fatal.If(t, err)
	defer s.Close()
	walkModel(t, 2, 600, s)
}

func walkModel(t *testing.T, seed uint64, steps int, store control.Store) {
	t.Helper()
	w, err := newWorld(seed, store)
	fatal.If(t, err)
	shares := map[string]int{}
	for i := range steps {
		if err := w.step(); err != nil {
			t.Fatalf("MODEL_SEED=%d, step %d: %v\nlast operations: %v", seed, i, err, w.last)
		}
		shares[string(w.m.phase)+" "+strconv.Itoa(int(w.m.inForce()))]++
	}
	fatal.If(t, w.g.Close(t.Context()))
	t.Logf("seed %d: %v; %d requests: %v; stood at %v", seed, w.done, w.m.total, maps.Clone(w.m.fates), shares)
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	fatal.If(t, err)
	return n
}

// modelJudge says what the world tells it to.
type modelJudge struct {
	w    *world
	seen int
}

func (j *modelJudge) Observe(*whittle.Exchange) whittle.Observation {
	if j.w.panics {
		panic("a defect")
	}
	if j.w.skip != "" {
		return whittle.Observation{Skip: j.w.skip}
	}
	j.seen++
	return whittle.Observation{}
}

func (j *modelJudge) Verdict() whittle.Verdict {
	return whittle.Verdict{State: j.w.word, Compared: j.seen}
}

func (j *modelJudge) Recheck(*whittle.Recheck) (time.Duration, bool) { return 0, false }
func (j *modelJudge) Known(*whittle.Request) bool                    { return true }
func (j *modelJudge) Served() whittle.Served                         { return whittle.Served{} }
func (j *modelJudge) ServedNeeded(float64) int                       { return 0 }
func (j *modelJudge) MarshalBinary() ([]byte, error)                 { return json.Marshal(j.seen) }
func (j *modelJudge) UnmarshalBinary(b []byte) error                 { return json.Unmarshal(b, &j.seen) }

// modelGuard speaks after one bad response.
type modelGuard struct{ Bad bool }

func (g *modelGuard) Outcome(o whittle.Outcome)      { g.Bad = g.Bad || o.Bad() }
func (g *modelGuard) Pair(whittle.Pair)              {}
func (g *modelGuard) Share(whittle.Share)            {}
func (g *modelGuard) Wait() string                   { return "" }
func (g *modelGuard) Reset()                         { g.Bad = false }
func (g *modelGuard) MarshalBinary() ([]byte, error) { return json.Marshal(g.Bad) }
func (g *modelGuard) UnmarshalBinary(b []byte) error { return json.Unmarshal(b, &g.Bad) }
func (g *modelGuard) Meters() []whittle.Meter {
	return []whittle.Meter{{Name: "errors", Breached: g.Bad, Summary: "It fails."}}
}

func (w *world) order() {
	s, err := w.c.Route(modelRoute)
	if err != nil {
		w.fault("%w", err)
		return
	}
	o := rollout.Order{Kind: rollout.Kinds[w.rng.IntN(len(rollout.Kinds))], By: "ann", Reason: "why not"}
	if w.rng.IntN(2) == 0 {
		o.Kind = rollout.Promote
	}
	o.Force = o.Kind == rollout.Promote && w.rng.IntN(2) == 0
	stale := w.rng.IntN(5) == 0
	if stale {
		o.Generation = s.Generation + 1<<40
	}
	atOnce, none := context.WithCancel(context.Background())
	none() // nobody waits for the disk
	err = w.c.Order(atOnce, modelRoute, o)
	carried := w.m.order(o, stale, w.word, w.now)
	if carried && o.Kind == rollout.Reset {
		w.m.afresh(w.word, w.now)
	}
	if carried != (whittle.CodeOf(err) == whittle.DeadlineExceeded && err != nil) {
		w.fault("order %+v: %v; carried out in the model: %v (%+v)", o, err, carried, w.m)
	}
}

var errModelSwap = errors.New("no such upstream")

func (w *world) reload() {
	next, other, fails := w.spec, w.rng.IntN(2) == 0, w.rng.IntN(3) == 0
	if other {
		next.Candidate = &whittle.Upstream{URL: fmt.Sprintf("http://127.0.0.1:%d", 2+w.rng.IntN(60_000))}
		other = next.Candidate.URL != w.spec.Candidate.URL
	}
	monolith := whittle.Upstream{URL: "http://127.0.0.1:1"}
	w.thawing = true
	err := w.c.Reload(monolith, []whittle.Route{next}, func() error {
		if other && w.share() != 0 {
			w.fault("share %d while the candidate is changed", w.share())
		}
		if fails {
			return errModelSwap
		}
		return w.g.Reload(monolith, []whittle.Route{next})
	})
	w.thawing = false
	if fails != errors.Is(err, errModelSwap) {
		w.fault("reload: %v", err)
	}
	if other {
		w.m.rise = 0
	}
	if other || !fails {
		w.m.dirty = true
	}
	if fails {
		return
	}
	w.m.read(w.word)
	w.spec = next
	if other {
		w.anotherCandidate()
	}
}

func (w *world) anotherCandidate() {
	w.m.epoch++
	w.m.afresh(w.word, w.now)
	if w.m.phase != whittle.PhaseOff {
		w.m.zero(whittle.PhaseShadow, false, w.now)
	}
}

// restart kills the process, sometimes after an orderly end, and starts another on
// what is on the disk.
func (w *world) restart() {
	if w.rng.IntN(3) == 0 {
		w.flush()
	}
	_ = w.g.Close(context.Background())
	epoch := w.m.epoch
	w.flights, w.notices = nil, nil
	if w.disk == nil {
		w.m = model{phase: whittle.PhaseShadow, fates: map[string]int64{}, dirty: true, epoch: epoch}
	} else {
		w.m = w.disk.copied()
		w.m.tripped, w.m.notified, w.m.known, w.m.dirty, w.m.retryAt = false, false, false, false, time.Time{}
		w.m.begun = time.Time{}
		if pending := w.m.total - w.m.settled(); pending > 0 {
			w.m.fates[fmt.Sprint(whittle.FateSkipped, " ", whittle.SkipInterrupted)] += pending
		}
		if w.m.phase == whittle.PhaseShift {
			w.m.since = w.now
		}
		if was := w.m.epoch; was != epoch {
			w.m.epoch = epoch - 1
			w.anotherCandidate()
		}
	}
	w.m.verdict, w.m.asked, w.m.unread = w.word, w.word, false
	if w.m.share > 0 && w.word == whittle.Different { // nobody is put on it to begin with
		w.m.remember(w.word)
		w.m.zero(whittle.PhaseRolledBack, false, w.now)
	}
	if err := w.begin(); err != nil {
		w.fault("start: %w", err)
	}
	if w.share() != w.m.inForce() {
		w.fault("share %d after a restart, the model has %d", w.share(), w.m.inForce())
	}
	w.tick()
}

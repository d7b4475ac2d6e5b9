package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/gateway/breaker"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// world is the real gateway's routes, counters and breakers and the real control, on
// a clock and a disk of the test's own, next to the model of both.
type world struct {
	rng *rand.Rand
	now time.Time
	m   model
	// disk is the model as of what is on the disk, cut as of the save that may come.
	disk  *model
	cut   model
	store control.Store // beneath the faults
	// fails says how saves end: "", "before" or "after" the record is written.
	fails   string
	wrong   error // found in a callback
	thawing bool

	g       *Gateway
	c       *control.Controller
	spec    whittle.Route
	word    whittle.State
	skip    string
	panics  bool
	bad     bool
	flights []*flight
	notices []notice
	last    []string // operations, for a failure's report
	done    map[string]int
}

type flight struct {
	entry ledgerEntry
	at    time.Time
}

type notice struct {
	shift      int
	generation uint64
}

const modelRoute = "/work"

func newWorld(seed uint64, store control.Store) (*world, error) {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 21)), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), store: store,
		word: whittle.Undecided, done: map[string]int{},
	}
	w.spec = everything()
	w.spec.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:2"}
	w.spec.Guard.Consecutive = 3
	w.spec.Compare.MinCompared = modelLeast
	w.spec.Rollout.Auto, w.spec.Rollout.Steps, w.spec.Rollout.Hold = true, modelSteps, modelHold
	w.m = model{phase: whittle.PhaseShadow, fates: map[string]int64{}, dirty: true}
	err := w.begin()
	w.tick()
	return w, err
}

// begin starts a process on what is on the disk.
func (w *world) begin() (err error) {
	monolith := whittle.Upstream{URL: "http://127.0.0.1:1"}
	w.g, err = New(Options{
		Monolith: monolith, Routes: []whittle.Route{w.spec},
		Tripped: func(_, _ string, generation uint64) {
			w.notices = append(w.notices, notice{w.m.shift, generation})
		},
	})
	if err != nil {
		return err
	}
	w.c, err = control.New(control.Options{
		Store: w, Monolith: monolith, Routes: []whittle.Route{w.spec}, Apply: w.apply, Counts: w.g.Counts,
		NewJudge: func(whittle.Comparison) (control.Judge, error) { return &modelJudge{w: w}, nil },
		NewGuard: func(whittle.Guard) control.Guard { return &modelGuard{} },
		Now:      func() time.Time { return w.now },
	})
	if err == nil {
		w.c.Start()
	}
	return err
}

// Load and Save are control's store.
func (w *world) Load(route string) (state.Record, error) { return w.store.Load(route) }

var errModelDisk = errors.New("the disk has failed")

func (w *world) Save(route string, r state.Record) error {
	var own struct {
		Ledger whittle.Ledger `json:"ledger"`
	}
	if err := json.Unmarshal(r.Ledger, &own); err != nil {
		return err
	}
	if text := w.m.differs(&own.Ledger); text != "" {
		w.fault("saved: %s", text)
	}
	if w.fails == "before" {
		return errModelDisk
	}
	if err := w.store.Save(route, r); err != nil {
		return err
	}
	cut := w.cut
	w.disk = &cut
	if w.fails == "after" {
		return errModelDisk
	}
	return nil
}

func (w *world) fault(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, args...)
	}
}

func (w *world) route() *route { return w.g.table.Load().routes[modelRoute] }

func (w *world) share() whittle.Share { return w.route().setting.Load().share }

// apply watches what control asks of the gateway.
func (w *world) apply(name string, p whittle.Position) bool {
	before := w.share()
	ok := w.g.Apply(name, p)
	if after := w.share(); after > before {
		if w.disk == nil || after > w.disk.share {
			w.fault("share %d in force and not on the disk", after)
		}
		if w.m.verdict == whittle.Different && !w.thawing {
			w.fault("a rise to %d over DIFFERENT", after)
		}
	}
	return ok
}

// step is one random operation, and what the model makes of it.
func (w *world) step() error {
	w.wrong = nil
	n := w.rng.IntN(100)
	switch {
	case n < 40:
		w.do("request", w.request)
	case n < 45:
		w.do("finish", w.finish)
	case n < 52:
		w.do("verdict", w.verdict)
	case n < 54:
		w.do("breach", w.breach)
	case n < 57:
		w.do("trip", w.trip)
	case n < 63:
		w.do("notice", w.notice)
	case n < 72:
		w.do("order", w.order)
	case n < 74:
		w.do("reload", w.reload)
	case n < 77:
		w.do("disk", func() { w.fails = []string{"", "", "before", "after"}[w.rng.IntN(4)] })
	case n < 79:
		w.do("restart", w.restart)
	case n < 82:
		w.do("flush", w.flush)
	default:
		w.do("time", func() { w.now = w.now.Add(time.Duration(w.rng.IntN(4000)) * time.Millisecond) })
		w.do("tick", w.tick)
	}
	return w.check()
}

func (w *world) do(name string, f func()) {
	w.done[name]++
	w.last = append(w.last[max(0, len(w.last)-30):], name)
	f()
}

// check compares everything that is to be seen.
func (w *world) check() error {
	if w.wrong != nil {
		return w.wrong
	}
	if got, want := w.share(), w.m.inForce(); got != want {
		return fmt.Errorf("share %d in force, the model has %d (%+v)", got, want, w.m)
	}
	if l := w.g.Ledger(modelRoute); l.Total != l.Sum() || l.Pending < 0 {
		return fmt.Errorf("the gateway's ledger %+v", l)
	}
	s, err := w.c.Route(modelRoute)
	if err != nil {
		return err
	}
	if s.Ledger.Total != s.Ledger.Sum() {
		return fmt.Errorf("the status shows %+v", s.Ledger)
	}
	return nil
}

// tick and flush let the model decide first, so that it is known what a save of theirs
// has to hold.
func (w *world) tick() {
	w.m.step(w.word, w.bad, true, w.now)
	saves := w.m.dirty && !w.now.Before(w.m.retryAt)
	w.cut = w.m.record()
	_ = w.c.Step() // an error is the store's
	if saves {
		w.m.saved(w.fails == "", w.word, w.now)
	}
}

func (w *world) flush() {
	w.m.step(w.word, w.bad, false, w.now)
	w.cut = w.m.record()
	_ = w.c.Flush()
	w.m.saved(w.fails == "", w.word, w.now)
}

// request is one of a user's: some end at once, some stay under way.
func (w *world) request() {
	f := &flight{at: w.now}
	w.route().ledgerCounts.open(&f.entry)
	w.m.total++
	if w.rng.IntN(4) > 0 {
		w.end(f)
		return
	}
	w.flights = append(w.flights, f)
}

func (w *world) finish() {
	if len(w.flights) == 0 {
		return
	}
	i := w.rng.IntN(len(w.flights))
	f := w.flights[i]
	w.flights = append(w.flights[:i], w.flights[i+1:]...)
	w.end(f)
}

func (w *world) end(f *flight) {
	switch w.rng.IntN(8) {
	case 0:
		f.entry.shed()
		w.m.settle(whittle.FateShed, "")
	case 1:
		f.entry.skip(whittle.SkipSampled)
		w.m.settle(whittle.FateSkipped, whittle.SkipSampled)
	case 2:
		f.entry.failed()
		f.entry.skip(whittle.SkipInterrupted) // too late
		w.m.settle(whittle.FateFailed, "")
	default:
		w.observe(f)
	}
}

// observe shows an exchange to the judge, as a mirror worker does.
func (w *world) observe(f *flight) {
	x := &whittle.Exchange{Route: modelRoute, At: f.at, Monolith: whittle.Response{Status: 200}, Candidate: whittle.Response{Status: 200}}
	switch w.rng.IntN(8) {
	case 0:
		x.Monolith = whittle.Response{Failure: whittle.FailedReset}
	case 1:
		x.Candidate = whittle.Response{Failure: whittle.FailedTimeout}
	}
	w.skip = ""
	if w.rng.IntN(10) == 0 {
		w.skip = whittle.SkipUnread
	}
	w.panics = w.rng.IntN(40) == 0
	givenUp := w.rng.IntN(40) == 0
	shown := w.m.phase != whittle.PhaseOff && !f.at.Before(w.m.begun)

	o := whittle.Observation{}
	func() {
		defer func() { _ = recover() }()
		if !f.entry.claim() {
			w.fault("a request is not to be claimed")
		}
		if givenUp {
			f.entry.skip(whittle.SkipInterrupted)
		}
		defer f.entry.observed(whittle.FateSkipped, skipDefect, false)
		o = w.c.Observe(x)
		fate, reason := o.Fate(x)
		f.entry.observed(fate, reason, o.Counted)
	}()
	w.expect(x, shown, givenUp)
	w.panics = false
}

// expect counts in the model what an exchange comes to that was shown.
func (w *world) expect(x *whittle.Exchange, shown, givenUp bool) {
	o := whittle.Observation{Skip: w.skip}
	switch {
	case w.m.phase == whittle.PhaseOff:
		o.Skip = whittle.SkipOff
	case !shown:
		o.Skip = whittle.SkipStale
	case w.panics && givenUp:
		return // it stays under way
	case w.panics:
		w.m.settle(whittle.FateSkipped, skipDefect)
		return
	default:
		w.m.unread = true
		if o.Skip == "" {
			w.m.seen++
		}
	}
	w.m.settle(o.Fate(x))
}

// verdict is another word of the judge's.
func (w *world) verdict() {
	w.word = []whittle.State{whittle.Undecided, whittle.Equivalent, whittle.Equivalent, whittle.Equivalent, whittle.Different}[w.rng.IntN(5)]
	f := &flight{at: w.now}
	w.route().ledgerCounts.open(&f.entry)
	w.m.total++
	w.observe(f)
}

// breach is a user's request that makes the guard speak.
func (w *world) breach() {
	w.c.Outcome(whittle.Outcome{Route: modelRoute, Side: whittle.Candidate, Status: 500})
	w.bad = w.m.share > 0
	w.tick()
	w.bad = false
}

// trip lets the candidate fail until the breaker trips.
func (w *world) trip() {
	b := w.route().breaker
	for range w.spec.Guard.Consecutive {
		p, ok := b.Admit(w.now, breaker.BoundsOf(w.spec.Guard))
		if ok != (w.m.inForce() > 0) && !w.m.tripped {
			w.fault("the breaker admits %v at share %d", ok, w.m.inForce())
		}
		if !ok {
			return
		}
		b.Done(p, breaker.Bad, w.now)
	}
	w.route().notices.Wait()
	w.m.tripped = w.m.share > 0
}

// notice lets one word of the breaker's arrive, perhaps late, perhaps twice.
func (w *world) notice() {
	if len(w.notices) == 0 {
		return
	}
	i := w.rng.IntN(len(w.notices))
	n := w.notices[i]
	if w.rng.IntN(3) > 0 {
		w.notices = append(w.notices[:i], w.notices[i+1:]...)
	}
	w.c.Tripped(modelRoute, "broken", n.generation)
	if n.shift == w.m.shift {
		w.m.notified = true
	}
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
func (g *modelGuard) CPU(whittle.CPUReading, bool)   {}
func (g *modelGuard) Wait() string                   { return "" }
func (g *modelGuard) Reset()                         { g.Bad = false }
func (g *modelGuard) MarshalBinary() ([]byte, error) { return json.Marshal(g.Bad) }
func (g *modelGuard) UnmarshalBinary(b []byte) error { return json.Unmarshal(b, &g.Bad) }
func (g *modelGuard) Meters() []whittle.Meter {
	return []whittle.Meter{{Name: "errors", Breached: g.Bad, Summary: "It fails."}}
}

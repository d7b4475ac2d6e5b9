package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/carve/control"
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

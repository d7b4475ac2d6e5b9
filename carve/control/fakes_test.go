package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const name = "POST /Count"

func spec(change ...func(*whittle.Route)) whittle.Route {
	r := whittle.Route{
		Name:      name,
		Candidate: &whittle.Upstream{URL: "http://127.0.0.1:6666"},
		Rollout: whittle.Rollout{
			Auto: true, Steps: []whittle.Share{100, 2500, whittle.All}, Hold: 10 * time.Second, MinRequests: 5,
		},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// memory is a store whose disk can fail or hang.
type memory struct {
	journal *journal

	mu       sync.Mutex // guards the following
	records  map[string]state.Record
	fail     error
	corrupt  bool
	hang     chan struct{} // nil: it does not hang
	hangAt   whittle.Share // the share whose saving hangs
	saves    int
	failLoad error
	history  []state.Record
}

func (m *memory) Load(route string) (state.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failLoad != nil {
		return state.Record{}, m.failLoad
	}
	if m.corrupt {
		return state.Record{}, whittle.Errorf(whittle.Internal, "load: %w", state.ErrCorrupt)
	}
	return m.records[route], nil
}

func (m *memory) Save(route string, r state.Record) error {
	m.mu.Lock()
	hang := m.hang
	at := m.hangAt
	m.mu.Unlock()
	if hang != nil && shareIn(r) == at {
		<-hang
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.fail != nil {
		return m.fail
	}
	if m.records == nil {
		m.records = map[string]state.Record{}
	}
	if route == name {
		m.history = append(m.history, r)
	}
	m.records[route] = r
	m.journal.add("saved", route, shareIn(r))
	return nil
}

func (m *memory) set(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *memory) attempts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saves
}

func shareIn(r state.Record) whittle.Share {
	var own struct {
		Rollout struct {
			Share whittle.Share `json:"share_bp"`
		} `json:"rollout"`
	}
	if err := json.Unmarshal(r.Rollout, &own); err != nil {
		panic(err)
	}
	return own.Rollout.Share
}

// journal writes down what happened in which order, without repetitions.
type journal struct {
	mu    sync.Mutex // guards the following
	lines []string
	last  map[string]string // line of each kind and route
}

func (j *journal) add(what, route string, share whittle.Share) {
	line := fmt.Sprintf("%s %d", what, share)
	if route != name {
		line = fmt.Sprintf("%s %s %d", route, what, share)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last == nil {
		j.last = map[string]string{}
	}
	if j.last[what+route] == line {
		return
	}
	j.last[what+route] = line
	j.lines = append(j.lines, line)
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// judge says what the test tells it to.
type judge struct {
	mu   *sync.Mutex // guards the following, shared by all of a harness's judges
	word *whittle.State
	seen int
}

func (j *judge) Observe(x *whittle.Exchange) whittle.Observation {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen++
	return whittle.Observation{Differs: x.Monolith.Status != x.Candidate.Status}
}

func (j *judge) Verdict() whittle.Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return whittle.Verdict{State: *j.word, Compared: j.seen, Summary: fmt.Sprintf("Stands on %d.", j.seen)}
}

func (j *judge) Recheck(*whittle.Recheck) (time.Duration, bool) { return 0, false }
func (j *judge) Known(*whittle.Request) bool                    { return true }
func (j *judge) Served() whittle.Served                         { return whittle.Served{} }
func (j *judge) ServedNeeded(float64) int                       { return 0 }

func (j *judge) MarshalBinary() ([]byte, error) { return json.Marshal(j.seen) }

func (j *judge) UnmarshalBinary(b []byte) error { return json.Unmarshal(b, &j.seen) }

// guard breaches when enough of the candidate's responses were bad, or enough
// comparisons differed.
type guard struct {
	Bad, Differ, Good int
	Users             whittle.Share
}

const tolerated = 3

func (g *guard) Outcome(o whittle.Outcome) {
	switch {
	case o.Side == whittle.Monolith:
	case o.Bad():
		g.Bad++
	default:
		g.Good++
	}
}

func (g *guard) Pair(p whittle.Pair) {
	if g.Users > 0 && p.Differs && !p.Monolith.Bad() && !p.Candidate.Bad() {
		g.Differ++
	}
}

func (g *guard) Share(s whittle.Share) { g.Users = s }

func (g *guard) Wait() string { return "" }

func (g *guard) Meters() []whittle.Meter {
	return []whittle.Meter{
		{Name: "errors", Count: g.Bad + g.Good, Breached: g.Bad >= tolerated, Summary: fmt.Sprintf("%d bad responses.", g.Bad)},
		{Name: "mismatch", Count: g.Differ, Breached: g.Differ >= tolerated, Summary: fmt.Sprintf("%d differ.", g.Differ)},
	}
}

func (g *guard) Reset() { *g = guard{Users: g.Users} }

func (g *guard) MarshalBinary() ([]byte, error) { return json.Marshal(g) }

func (g *guard) UnmarshalBinary(b []byte) error {
	type plain guard
	return json.Unmarshal(b, (*plain)(g))
}

// rig is a controller with a gateway's place taken by the test.
type rig struct {
	t       *testing.T
	c       *control.Controller
	disk    *memory
	journal *journal

	mu       sync.Mutex // guards the following
	word     whittle.State
	reports  map[string]whittle.Ledger // the gateway's part of the ledger
	seq      uint64
	inForce  map[string]whittle.Share
	latest   map[string]whittle.Position
	refused  error // of NewJudge
	events   []string
	monolith whittle.Upstream
	routes   []whittle.Route

	stop func() error // ends the run that began last
}

func newRig(t *testing.T, disk *memory, routes ...whittle.Route) *rig {
	t.Helper()
	return newRigBefore(t, disk, whittle.Upstream{}, routes...)
}

// newRigBefore is newRig in front of a monolith.
func newRigBefore(t *testing.T, disk *memory, monolith whittle.Upstream, routes ...whittle.Route) *rig {
	t.Helper()
	h := &rig{
		monolith: monolith, routes: routes, t: t, disk: disk, journal: &journal{}, word: whittle.Undecided,
		reports: map[string]whittle.Ledger{}, inForce: map[string]whittle.Share{}, latest: map[string]whittle.Position{},
	}
	disk.journal = h.journal
	h.begin()
	return h
}

// begin makes a controller of the same disk and routes, as another process would.
func (h *rig) begin(change ...func(o *control.Options)) {
	h.t.Helper()
	o := control.Options{
		Store: h.disk, Monolith: h.monolith, Routes: h.routes, Apply: h.apply,
		Counts: func(route string) whittle.Counts {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.seq++
			l := h.reports[route]
			l.Skipped = maps.Clone(l.Skipped)
			return whittle.Counts{Run: 1, Seq: h.seq, Ledger: l}
		},
		NewJudge: func(whittle.Comparison) (control.Judge, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.refused != nil {
				return nil, h.refused
			}
			return &judge{mu: &h.mu, word: &h.word}, nil
		},
		NewGuard: func(whittle.Guard) control.Guard { return &guard{} },
		Notify: func(e whittle.Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, fmt.Sprintf("%s %d→%d by %s: %s", e.Kind, e.From, e.To, e.By, e.Reason))
		},
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	h.c, err = control.New(o)
	fatal.If(h.t, err)
}

// apply takes what the gateway would; that each position is a later one than the
// last holds in every test.
func (h *rig) apply(route string, p whittle.Position) bool {
	h.mu.Lock()
	if last := h.latest[route]; p.Generation <= last.Generation {
		h.t.Errorf("%+v of %s after %+v", p, route, last)
	}
	h.latest[route] = p
	h.inForce[route] = p.Share
	h.mu.Unlock()
	h.journal.add("applied", route, p.Share)
	return true
}

func (h *rig) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// trip is the breaker's word on what is in force.
func (h *rig) trip(reason string) {
	h.mu.Lock()
	generation := h.latest[name].Generation
	h.mu.Unlock()
	h.c.Tripped(name, reason, generation)
}

func (h *rig) share() whittle.Share {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inForce[name]
}

// say sets the verdict; the exchange makes control ask for it.
func (h *rig) say(word whittle.State) {
	h.set(func() { h.word = word })
	h.c.Observe(exchange(200))
}

func exchange(candidate int) *whittle.Exchange {
	return &whittle.Exchange{Route: name, Monolith: whittle.Response{Status: 200}, Candidate: whittle.Response{Status: candidate}}
}

func (h *rig) users(side whittle.Side, status, n int) {
	for range n {
		h.c.Outcome(whittle.Outcome{Route: name, Side: side, Status: status, At: time.Now()})
	}
}

// run starts the controller within a synctest bubble, until stop or the test's end.
func (h *rig) run() {
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- h.c.Run(ctx)
		close(ended)
	}()
	stop := func() error {
		cancel()
		return <-ended
	}
	h.stop = stop
	h.t.Cleanup(func() { _ = stop() }) // how a run ends is what tests ask that call stop
	synctest.Wait()
}

// inBubbles runs a test of each case in a bubble of its own.
func inBubbles[C any](t *testing.T, cases map[string]C, test func(t *testing.T, c C)) {
	for label, c := range cases {
		t.Run(label, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, c) }) })
	}
}

// pass lets time go by, to the end of whatever happens at its end.
func pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func (h *rig) status() whittle.RouteStatus {
	h.t.Helper()
	s, err := h.c.Route(name)
	fatal.If(h.t, err)
	return s
}

func (h *rig) expectLog(want ...string) {
	h.t.Helper()
	if got := h.journal.take(); !slices.Equal(got, want) {
		h.t.Errorf("order of events\n got %q\nwant %q", got, want)
	}
}

var errFull = whittle.Errorf(whittle.ResourceExhausted, "save state: %w", errors.New("no space left on device"))

// Package control turns evidence into a share. For each route that has a
// candidate it feeds exchanges to the judge and users' outcomes to the guards,
// asks the rollout what follows, keeps all of it in the state file and applies
// the share to the gateway.
//
// A rise of the share is on disk before it is applied. A fall is applied before it is
// on disk, so no fall waits for a disk. A status shows only what is on disk. No
// user's request waits for anything here.
package control

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/state"
)

// Store keeps records across restarts. Save returns when the record is on disk,
// or fails and leaves the one before. Both are called by several goroutines.
// *state.Store is one.
type Store interface {
	Load(route string) (state.Record, error)
	Save(route string, r state.Record) error
}

// Judge compares the exchanges of one route. One goroutine calls it at a time. Its
// encoding is bounded, and decoding bytes of another origin is an error.
type Judge interface {
	// Observe takes one exchange.
	Observe(x *whittle.Exchange) whittle.Observation
	// Recheck takes both sides' responses to a request that was sent again about a
	// difference. more: it must be sent once more, after that time.
	Recheck(r *whittle.Recheck) (after time.Duration, more bool)
	// Known reports whether a response to a request of this shape has been compared.
	// Any goroutine may call it at any time.
	Known(q *whittle.Request) bool
	// Served sums up the comparison of responses that the candidate gave to users.
	// ServedNeeded is how many more of them, none differing, bring the bound to most.
	Served() whittle.Served
	ServedNeeded(most float64) int
	// Verdict is the verdict so far. Its slices may belong to the judge.
	Verdict() whittle.Verdict
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Guard watches the users of one route. One goroutine calls it at a time.
type Guard interface {
	Outcome(o whittle.Outcome)
	// Pair takes a request that both sides got. Before users depend on the candidate,
	// it is no evidence against it.
	Pair(p whittle.Pair)
	// Share sets the candidate's share of the users from now on.
	Share(s whittle.Share)
	// Meters may be called after every outcome. A breach stays until Reset.
	Meters() []whittle.Meter
	// Wait is the reason why a rise of the share must wait, as a clause; empty: it
	// need not. It never lowers a share. It may be set before users depend on the
	// candidate.
	Wait() string
	// Reset begins another attempt. It forgets the breaches and all evidence on the
	// candidate, except the reason why a rise waits.
	Reset()
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Options make a controller. Store and Apply are required.
type Options struct {
	Store Store
	// Monolith is the server that candidates are compared with. Evidence against
	// another monolith does not count.
	Monolith whittle.Upstream
	// Routes as in the config; those without a candidate are left alone.
	Routes []whittle.Route
	// Apply puts a position in force and reports whether it is. It ignores one whose
	// generation is not above that of the last; after a trip of the circuit breaker it
	// ignores every share above 0 until a position's Zero shows that the trip is known.
	// It must not block and must not call back.
	Apply func(route string, p whittle.Position) (inForce bool)
	// Steered says how far proxies have put in force what Apply gave them. Nil, or nil for a route:
	// the gateway itself sends its users to the candidate. It must not block and must not call back.
	Steered func(route string) *whittle.SteerStatus
	// Watch sets the share of the candidate's responses to users that is compared. It
	// must not block and must not call back. Nil: not called.
	Watch func(route string, share whittle.Share)
	// Counts gives the gateway's report of a route. It must not block and must not
	// call back. Nil: the ledger has only compared exchanges.
	Counts func(route string) whittle.Counts
	// Notify takes each decision as it is in force, and each change of a verdict. It must
	// not block and must not call back. Nil: not called.
	Notify func(whittle.Event)
	// Follows says that the process before goes on while records are loaded, and that what
	// comes there still is counted here: no time is missing.
	Follows bool
	// NewJudge and NewGuard make the evidence's two halves for a route. Nil:
	// those of package compare.
	NewJudge func(whittle.Comparison) (Judge, error)
	NewGuard func(whittle.Guard) Guard
	// Fleet is what the other gateways know and report, where this controller decides for
	// all of them. Nil: there are none.
	Fleet Fleet
	// Shows says that the controller only shows what is in the store, and is never run.
	Shows bool
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Tick is how often the rollout is asked without a notification. 0: 100 ms.
	Tick time.Duration
	// Log gets decisions and errors. It must not block. Nil: discarded.
	Log *slog.Logger
}

const (
	defaultTick = 100 * time.Millisecond
	// saveEvery is how old the evidence on disk may be while it changes.
	saveEvery = time.Second
	// retrySave is the wait before another save after one that failed.
	retrySave = time.Second
)

// Controller owns the routes' evidence and shares. Its methods may be called
// by several goroutines at once.
type Controller struct {
	o       Options
	table   atomic.Pointer[map[string]*route] // replaced as a whole by Reload
	running chan struct{}                     // closed by the first Run
	once    sync.Once                         // of that closing

	mu      sync.Mutex // guards the following
	started bool
	begin   func(*route) // starts a route's goroutines; nil unless Run is under way
}

// New loads each route's record. Nothing is applied until Start. A damaged record is
// not an error: its route loses the evidence and goes back to the monolith. A
// comparison that cannot be compiled is an error, with the route's Field.
func New(o Options) (*Controller, error) {
	if o.Store == nil || o.Apply == nil {
		return nil, whittle.Errorf(whittle.Internal, "control: Store and Apply are required")
	}
	c := &Controller{o: o.withDefaults(), running: make(chan struct{})}
	table := map[string]*route{}
	for i, spec := range o.Routes {
		if spec.Candidate == nil {
			continue
		}
		r, err := c.load(o.Monolith, spec)
		if err != nil {
			return nil, fieldOf(i, err)
		}
		table[spec.Name] = r
	}
	c.table.Store(&table)
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.NewJudge == nil {
		o.NewJudge = NewJudge
	}
	if o.NewGuard == nil {
		o.NewGuard = NewGuard
	}
	if o.Steered == nil {
		o.Steered = func(string) *whittle.SteerStatus { return nil }
	}
	if o.Watch == nil {
		o.Watch = func(string, whittle.Share) {}
	}
	if o.Counts == nil {
		o.Counts = func(string) whittle.Counts { return whittle.Counts{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tick <= 0 {
		o.Tick = defaultTick
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Start applies the loaded shares to the gateway. Call it before the gateway accepts
// requests. A second call does nothing.
func (c *Controller) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return
	}
	c.started = true
	for _, r := range c.routes() {
		r.enter()
	}
	c.o.Follows = false // what is loaded later has been away
}

// Run makes decisions until ctx ends, and then saves every route a last time. The
// error is of that last save. Shut down in this order: the gateway stops accepting
// requests, its mirror workers end, Run's ctx ends, the store is closed.
func (c *Controller) Run(ctx context.Context) error {
	c.Start()
	c.mu.Lock()
	if c.begin != nil {
		c.mu.Unlock()
		return whittle.Errorf(whittle.FailedPrecondition, "control is running already")
	}
	c.begin = func(r *route) { r.start(ctx) }
	for _, r := range c.routes() {
		c.begin(r)
	}
	c.mu.Unlock()
	c.once.Do(func() { close(c.running) })

	<-ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin = nil
	for _, r := range c.routes() {
		r.stop()
	}
	return c.Flush()
}

// Step makes the decisions that are due now by the clock, saves them and puts them in
// force, all on the caller's goroutine. A simulation with its own clock calls it
// instead of Run; it must not be called while Run is running. The error is the
// store's; a rise that it prevented is retried by a later Step. Orders are carried
// out from the first Step on. Whether one is on disk is known after the next Step.
func (c *Controller) Step() error {
	c.Start()
	var errs []error
	for _, r := range c.routes() {
		r.step(true)
		r.remember()
		r.mu.Lock()
		r.disk.open = true
		due := r.disk.saved < r.disk.gen && !r.c.o.Now().Before(r.disk.retryAt)
		r.mu.Unlock()
		if due {
			errs = append(errs, r.saveOnce())
		}
	}
	return errors.Join(errs...)
}

// Flush saves every route, on the caller's goroutine. It must not be called while Run
// is running.
func (c *Controller) Flush() error {
	var errs []error
	for _, r := range c.routes() {
		errs = append(errs, r.flush())
	}
	return errors.Join(errs...)
}

// Running is closed once Run takes orders.
func (c *Controller) Running() <-chan struct{} { return c.running }

// Told is how many of a route's requests are in what was saved last.
func (c *Controller) Told(name string) (total int64) {
	if r := c.find(name); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		total = r.disk.reports.total
	}
	return total
}

// Missed says that requests may have come in a time which nobody has counted.
func (c *Controller) Missed(from, to time.Time) {
	for _, r := range c.routes() {
		r.ev.mu.Lock()
		r.ev.account.Gap, r.ev.changed = &whittle.Gap{From: from, To: to}, true
		r.ev.mu.Unlock()
	}
}

// routes are in the order of their names.
func (c *Controller) routes() []*route {
	table := *c.table.Load()
	all := make([]*route, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		all = append(all, table[name])
	}
	return all
}

package mirror

import (
	"context"
	"sync"
	"time"

	"whittle/internal/notify"
)

// Rechecks bounds asking both sides again about exchanges in which they differed,
// apart from the users' requests and within a budget of the route's requests. What
// is not within it is not asked, which no verdict takes for an explanation.
type Rechecks struct {
	ctx    context.Context //nolint:containedctx // the route's own life, not a call's
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the following
	running int
	closed  bool
	// saved is how many rounds are left, and requests how many of the route's were
	// counted.
	saved    float64
	requests int64
}

// NewRechecks makes the budget of one route, full at first.
func NewRechecks() *Rechecks {
	r := &Rechecks{saved: recheckSaved}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Acquire asks for a permit to ask about one more difference, when so many requests
// of the route have come. Whoever gets it calls
// Release.
func (r *Rechecks) Acquire(requests int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	grown := recheckShare * float64(max(0, requests-r.requests))
	r.requests = max(requests, r.requests)
	r.saved = min(recheckSaved, r.saved+grown)
	if r.closed || r.running >= rechecksAtOnce || r.saved < RecheckRounds {
		return false
	}
	r.running++
	r.wg.Add(1)
	return true
}

// Spend takes one round from the budget.
func (r *Rechecks) Spend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved--
}

// Release ends what Acquire began.
func (r *Rechecks) Release() {
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	r.wg.Done()
}

// Close ends what is under way and waits for it, until after ends.
func (r *Rechecks) Close(after context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-after.Done():
		return after.Err()
	}
}

// Context ends with Close. Requests that are asked again use it.
func (r *Rechecks) Context() context.Context { return r.ctx }

// Pause waits before a round, a minute at most; false: Close came first.
func (r *Rechecks) Pause(d time.Duration) bool {
	return notify.Sleep(r.ctx, min(d, recheckWait)) && r.ctx.Err() == nil
}

// Bounds of asking again about differences.
const (
	// recheckShare is how many rounds there may be for each request of the route,
	// recheckSaved how many may be saved up. Both orders of asking have one budget:
	// the one may not be asked more readily than the other, since the findings of
	// one are weighed against those of the other.
	recheckShare = 0.04
	recheckSaved = 96.0
	// RecheckRounds is how many rounds one difference takes at most: that many
	// must be left before it is asked about.
	RecheckRounds = 4
	// rechecksAtOnce bounds the differences that are asked about at the same time.
	rechecksAtOnce = 16
	// recheckWait bounds how long a round may be put off.
	recheckWait = time.Minute
)

package mirror

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/notify"
)

// Repeatable says whether the monolith may be sent a route's requests a second time. A
// GET that takes a message from a queue or uses up a token is not safe, whatever its
// method says, and the user's next request would miss what the second one took.
type Repeatable struct {
	// score rises with each second response that is an error where the first was none,
	// and falls with each other one.
	score atomic.Int32
}

// Three such errors in a row, or more than one in five of many, are no accident.
const (
	spoiltStep = 4
	spoiltMost = 3 * spoiltStep
)

// OK reports whether a request may be sent again. Query is without its question mark.
func (r *Repeatable) OK(query string) bool { return r.score.Load() < spoiltMost && !OneTime(query) }

// See takes the status of the user's response and of the second one. It reports whether
// this has just ended the repeats of the route, until Forget.
func (r *Repeatable) See(first, second int) (ended bool) {
	for {
		old := r.score.Load()
		if old >= spoiltMost {
			return false
		}
		next := max(0, old-1)
		if first < 400 && second >= 400 {
			next = old + spoiltStep
		}
		if r.score.CompareAndSwap(old, next) {
			return next >= spoiltMost
		}
	}
}

// Forget begins anew.
func (r *Repeatable) Forget() { r.score.Store(0) }

// OneTime reports whether a query has a value that is good for one use: the code of an OAuth or
// OpenID callback, whose second use revokes the tokens that the first one got (RFC 6749,
// section 4.1.2), the ticket of CAS, a message of SAML, the verifier of OAuth 1. Query is without its question mark.
func OneTime(query string) bool {
	code, state := false, false
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "code":
			code = true
		case "state":
			state = true
		case "ticket":
			if strings.HasPrefix(value, "ST-") {
				return true
			}
		case "SAMLResponse", "SAMLRequest", "SAMLart", "oauth_verifier":
			return true
		}
	}
	return code && state
}

// Overrides reports whether a request asks to be read as one of another method, which
// frameworks heed, or do not: by a header, or by _method in its query.
func Overrides(r *http.Request) bool {
	for _, name := range [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		for _, v := range r.Header[name] {
			if v != "" && !strings.EqualFold(v, r.Method) {
				return true
			}
		}
	}
	for query := r.URL.RawQuery; strings.Contains(query, "_method="); {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if v, ok := strings.CutPrefix(pair, "_method="); ok && v != "" && !strings.EqualFold(v, r.Method) {
			return true
		}
	}
	return false
}

// Shedder watches the monolith's latency on one route and says when mirroring
// should stop for its sake.
//
// Two medians are compared. The recent one is that of the last 64 responses. The
// baseline is a slowly moving estimate of the median (stochastic approximation
// of a quantile, Robbins and Monro 1951, on the logarithm): each response moves
// it up or down by one step. Responses given while nothing was being mirrored
// move it by a large step, others by a small one, so it stays near what the
// latency is without mirroring. Shedding is its own control: while it lasts,
// responses come without mirroring. Either they are quick again, and mirroring
// resumes; or they stay slow, so mirroring was not the cause, the baseline
// rises to them, and mirroring resumes too.
type Shedder struct {
	// Above is the multiple of the baseline that sheds; 0: never.
	Above float64

	mu sync.Mutex // guards the following
	// recent is a ring of logarithms of seconds.
	recent [recentResponses]float64
	seen   int
	base   float64
	// shedding holds until the time named, unless confirmed again.
	shedding bool
	until    time.Time
}

const (
	recentResponses = 64
	// medianEvery is how many responses pass between two looks at the medians.
	medianEvery = 16
	// The baseline's steps, in units of the logarithm: while it is first
	// learned, while nothing is mirrored, and otherwise. A latency that has
	// doubled is learned in about 45 responses without mirroring, or 1,400 with it.
	firstStep, unmirroredStep, mirroredStep = 1.0 / 8, 1.0 / 64, 1.0 / 2048
	// leastRise is how much slower the monolith must be in absolute terms: a
	// median that goes from 0.1 to 0.3 ms is a scheduler's noise and nobody's
	// trouble.
	leastRise = time.Millisecond
	// shedLease ends shedding on a route with too few requests to confirm it.
	shedLease = 30 * time.Second
)

// Observe takes one latency of the monolith's. unmirrored says that nothing was
// being mirrored meanwhile.
func (s *Shedder) Observe(latency time.Duration, unmirrored bool, now time.Time) {
	if s.Above <= 0 {
		return
	}
	x := math.Log(max(latency, time.Microsecond).Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(x, unmirrored)
	s.recent[s.seen%recentResponses] = x
	s.seen++
	if s.seen >= recentResponses && s.seen%medianEvery == 0 {
		s.look(now)
	}
}

// follow moves the baseline. The caller holds mu.
func (s *Shedder) follow(x float64, unmirrored bool) {
	if s.seen == 0 {
		s.base = x
		return
	}
	step := mirroredStep
	switch {
	case s.seen < recentResponses:
		step = firstStep
	case unmirrored:
		step = unmirroredStep
	}
	if x < s.base {
		step = -step
	}
	s.base += step
}

// look decides. It takes more to begin than to go on: shedding ends when the
// median is back under the geometric half of the allowed rise. The caller
// holds mu.
func (s *Shedder) look(now time.Time) {
	sorted := s.recent
	slices.Sort(sorted[:])
	median := sorted[recentResponses/2]
	rise := math.Log(s.Above)
	if s.shedding {
		rise /= 2
	}
	s.shedding = median > s.base+rise && math.Exp(median)-math.Exp(s.base) > leastRise.Seconds()
	if s.shedding {
		s.until = now.Add(shedLease)
	}
}

// Sheds reports whether mirroring should pause.
func (s *Shedder) Sheds(now time.Time) bool {
	if s.Above <= 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shedding && now.Before(s.until)
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

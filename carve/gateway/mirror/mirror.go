// Package mirror bounds the work that is done on the side of the users' requests:
// a queue of mirrored requests that is never waited for, a shedder that stops
// mirroring when the monolith becomes slower by it, and a budget for asking both
// sides again about a difference.
package mirror

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/socket"
)

// Queue runs jobs alongside the users' requests, a bounded number at once, with a
// bounded number waiting. Its workers are started when there is work and end
// soon after there is none, so an idle route costs nothing. A worker that rests is
// woken by a socket.Bell, so that no thread is woken for work that nobody waits for.
type Queue[J any] struct {
	// work does one job; ctx ends when the queue is closed for good.
	work func(ctx context.Context, j J)
	// abandon is called for each job that a closing queue gives up: those that
	// wait, and those under way when the time to close ran out. Such a job has begun,
	// and its worker still uses it.
	abandon func(j J, begun bool)

	ctx    context.Context //nolint:containedctx // the queue's own life, not a call's
	cancel context.CancelFunc

	// rest is how long a worker without work stays; 0: it ends at once.
	rest time.Duration

	mu sync.Mutex // guards the following
	// workers are all that have not ended, resting those that wait for work.
	workers int
	resting []*worker[J]
	waiting []J
	// running has the jobs under way, by worker.
	running map[*worker[J]]J
	closed  bool
	// idle is closed when a closed queue's last worker has ended.
	idle chan struct{}
}

// Offered is what a queue said to a job.
type Offered uint8

const (
	// Accepted: the job will be done or abandoned.
	Accepted Offered = iota
	// Full: as many jobs are waiting as may.
	Full
	// Closed: the queue takes no more jobs.
	Closed
)

// NewQueue makes a queue; its workers call work for each job, and Close calls
// abandon for each that it gives up. A worker stays for rest without work.
func NewQueue[J any](rest time.Duration, work func(context.Context, J), abandon func(j J, begun bool)) *Queue[J] {
	q := &Queue[J]{rest: rest, work: work, abandon: abandon, running: map[*worker[J]]J{}, idle: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Offer hands a job over unless workers are busy and wait others are waiting.
// It never blocks. The bounds come with each job, since a reload may change
// them while the queue goes on.
func (q *Queue[J]) Offer(j J, workers, wait int) Offered {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return Closed
	case len(q.running) < max(workers, 1):
		q.start(j)
		return Accepted
	case len(q.waiting) >= wait:
		return Full
	}
	q.waiting = append(q.waiting, j)
	return Accepted
}

// worker runs jobs on a goroutine of its own.
type worker[J any] struct {
	bell  *socket.Bell
	until time.Time // when it ends if it has rested all the while
	rests bool      // it is among the resting; guarded by the queue's mu
}

// start has a worker run a job. The caller holds mu.
func (q *Queue[J]) start(j J) {
	n := len(q.resting)
	if n == 0 {
		w := &worker[J]{}
		q.workers++
		q.running[w] = j
		go q.serve(w, j)
		return
	}
	w := q.resting[n-1]
	q.resting[n-1] = nil
	q.resting = q.resting[:n-1]
	q.running[w], w.rests = j, false
	w.bell.Ring()
}

// bells bounds the descriptors that resting workers of all queues hold. Further
// workers end when they have no work.
var bells = make(chan struct{}, 256)

// serve is a worker's life, with its first job.
func (q *Queue[J]) serve(w *worker[J], j J) {
	q.drain(w, j)
	if q.rest > 0 {
		q.attendBell(w)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.workers--
	q.endIfDone()
}

// attendBell has a worker run the jobs that it is given, until it has rested for its time.
func (q *Queue[J]) attendBell(w *worker[J]) {
	select {
	case bells <- struct{}{}:
		defer func() { <-bells }()
	default:
		return
	}
	var err error
	if w.bell, err = socket.NewBell(); err != nil {
		return // without one, it ends at once
	}
	defer w.bell.Close()
	for q.attend(w) && q.stays(w) {
		_ = w.bell.Attend(func() (more bool) { return q.attend(w) }) // its time is over, or the queue's
	}
}

// drain runs a worker's job, and others until the queue is empty.
func (q *Queue[J]) drain(w *worker[J], j J) {
	for more := true; more; j, more = q.next(w) {
		q.work(q.ctx, j)
	}
}

// stays reports whether a worker is to wait for its bell. It is not once it has rested
// for its time.
func (q *Queue[J]) stays(w *worker[J]) bool {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	_, has := q.running[w]
	switch {
	case has: // its bell has rung
	case !w.rests:
		q.lieDown(w)
		q.keepUp(w, now)
	case !now.Before(w.until):
		q.resting = slices.DeleteFunc(q.resting, func(o *worker[J]) bool { return o == w })
		return false
	}
	return true
}

// keepUp has a worker stay for its time from now on.
func (q *Queue[J]) keepUp(w *worker[J], now time.Time) {
	w.until = now.Add(q.rest)
	_ = w.bell.SetDeadline(w.until) // the bell is open
}

// lieDown has a worker rest. The caller holds mu.
func (q *Queue[J]) lieDown(w *worker[J]) {
	w.rests = true
	q.resting = append(q.resting, w)
}

// attend runs the job that a worker was given, if it was. False: it is to end.
func (q *Queue[J]) attend(w *worker[J]) (more bool) {
	for {
		q.mu.Lock()
		j, has := q.running[w]
		closed := q.closed
		q.mu.Unlock()
		if !has {
			return !closed
		}
		q.drain(w, j)
		if now := time.Now(); w.until.Sub(now) < q.rest/2 {
			q.keepUp(w, now)
		}
		q.mu.Lock()
		q.lieDown(w)
		q.mu.Unlock()
	}
}

// endIfDone tells Close that no worker is left. The caller holds mu.
func (q *Queue[J]) endIfDone() {
	if q.closed && q.workers == 0 {
		close(q.idle)
	}
}

// next takes the job that has waited longest, or ends a worker's work.
func (q *Queue[J]) next(w *worker[J]) (j J, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		delete(q.running, w)
		return j, false
	}
	var none J
	j, q.waiting[0] = q.waiting[0], none
	q.waiting = q.waiting[1:]
	q.running[w] = j
	return j, true
}

// Busy reports whether any job is under way.
func (q *Queue[J]) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.running) > 0
}

// Close takes no more jobs and waits for those it has. When ctx ends first, the
// jobs that wait are given up, those under way are canceled and given up, and
// the workers are waited for until after ends; then its error says that a
// worker is stuck.
func (q *Queue[J]) Close(ctx, after context.Context) error {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		for _, w := range q.resting {
			w.rests = false
			w.bell.Ring()
		}
		q.resting = nil
		q.endIfDone()
	}
	q.mu.Unlock()
	defer q.cancel()
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
	}
	q.cancel()
	begun, waiting := q.giveUp()
	for _, j := range begun {
		q.abandon(j, true)
	}
	for _, j := range waiting {
		q.abandon(j, false)
	}
	select {
	case <-q.idle:
		return nil
	case <-after.Done():
		return after.Err()
	}
}

// giveUp lists the jobs under way and those that wait, which wait no more.
func (q *Queue[J]) giveUp() (begun, waiting []J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, q.waiting = q.waiting, nil
	return slices.Collect(maps.Values(q.running)), waiting
}

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

package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// worker carries one virtual user after another: goroutine, buffers and, where
// connections are shared, nothing else outlives a user.
type worker struct {
	run   *session
	wake  chan Arrival
	shard *shard
	pcg   rand.PCG
	scope scope
	index int64   // of the present virtual user, from 0
	own   []*conn // the user's connections by endpoint slot; nil with a pool
	out   []byte
	body  []byte
	ans   answer
	extra []string
	due   time.Time // when the user's next request is due
	// member is set where the user is one of a closed model's.
	member *member
}

func newWorker(s *session, sh *shard) *worker {
	w := &worker{run: s, wake: make(chan Arrival, 1), shard: sh}
	w.scope = scope{rng: rand.New(&w.pcg), values: make([]value, s.plan.slots)}
	if s.dialer.pool == 0 {
		w.own = make([]*conn, s.slots)
	}
	return w
}

// live takes arrivals until the session ends.
func (w *worker) live(ctx context.Context, first Arrival) {
	for a, ok := first, true; ok; a, ok = <-w.wake {
		w.user(ctx, a)
		w.run.inFlight.Add(-1)
		w.run.finished.Add(1)
		if !w.run.park(w) {
			return
		}
	}
}

// user is one virtual user's whole life.
func (w *worker) user(ctx context.Context, a Arrival) {
	w.due = w.run.start.Add(a.At)
	w.shard.begun(w.run.now().Sub(w.due))
	w.index = w.run.users.Add(1) - 1
	w.pcg.Seed(w.run.seed, uint64(w.index))
	w.dress()
	if !w.steps(ctx, w.run.plan.choose(w.scope.rng).steps) && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.forget()
}

// dress gives the user its variables and headers.
func (w *worker) dress() {
	for i := range w.run.plan.variables {
		v := &w.run.plan.variables[i]
		pick := 0
		if len(v.choices) > 1 {
			pick = w.scope.rng.IntN(len(v.choices))
		}
		w.scope.values[v.slot] = v.choices[pick]
	}
	w.deal()
	w.extra = w.extra[:0]
	if f := w.run.options.Headers; f != nil {
		w.extra = f(w.extra, w.index)
	}
}

// forget ends what the user has kept: its connections.
func (w *worker) forget() {
	for i, c := range w.own {
		if c != nil {
			w.run.dialer.close(c)
			w.own[i] = nil
		}
	}
}

// steps runs a flow, and reports whether the user goes on: a request without
// an answer, or with an unexpected one, ends it.
func (w *worker) steps(ctx context.Context, steps []step) bool {
	for i := range steps {
		if w.timeUp() {
			return false
		}
		ok := true
		switch s := &steps[i]; {
		case s.request != nil:
			ok = w.ask(ctx, w.run.prepared[s.request])
		case s.think != nil:
			ok = w.rest(ctx, w.due.Add(s.think.pause))
		case s.loop != nil:
			ok = w.loop(ctx, s.loop)
		case s.action != nil:
			ok = s.action.act(ctx, w)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (w *worker) loop(ctx context.Context, l *loop) bool {
	count, item := w.scope.loopCount, w.scope.loopItem
	defer func() { w.scope.loopCount, w.scope.loopItem = count, item }()
	n := l.count
	if l.over != nil {
		n = int64(len(l.over))
	}
	for i := range n {
		w.scope.loopCount = i + 1
		w.scope.loopItem = numberValue(i + 1)
		if l.over != nil {
			w.scope.loopItem = l.over[i]
		}
		if !w.steps(ctx, l.steps) {
			return false
		}
	}
	return true
}

// ask sends one request and reads its answer.
func (w *worker) ask(ctx context.Context, q *prepared) bool {
	w.out, w.body = q.render(w.out[:0], w.body, &w.scope, w.extra)
	o := observed{name: q.index, intended: w.due, sent: w.run.now()}
	deadline := o.sent.Add(w.run.plan.HTTP.Timeout)
	err := w.exchange(ctx, q, deadline, &o)
	if w.member != nil {
		w.member.measured(&o)
	}
	o.done = w.run.now()
	// The next step is due when this one is over.
	w.due = o.done
	if err != nil {
		if ctx.Err() != nil {
			w.shard.cut(&o)
			return false
		}
		o.failure = failureOf(err)
	} else {
		o.status = w.ans.status
		o.failure = q.judge(&w.ans)
	}
	w.shard.record(&o)
	if f := w.run.each; f != nil {
		f(&o)
	}
	if f := w.run.options.OnAnswer; f != nil {
		f(Answer{
			User: w.index, Name: q.name, Status: o.status, Failure: o.failure, Body: w.ans.body,
			Intended: o.intended, Sent: o.sent, Done: o.done,
		})
	}
	return w.answered(&o)
}

// judge says which kind of error an answer is, empty for none.
func (q *prepared) judge(a *answer) string {
	expected := false
	for i := range q.expect {
		if !q.expect[i].holds(a) {
			return ErrorExpectation
		}
		expected = expected || len(q.expect[i].statuses) > 0
	}
	if a.status >= 500 && !expected {
		return ErrorServer
	}
	return ""
}

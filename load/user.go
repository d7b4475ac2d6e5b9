package load

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"whittle/load/report"
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
	jar   *jar    // the user's cookies; nil until there are some
	out   []byte
	body  []byte
	ans   answer
	extra []string
	due   time.Time // when the user's next request is due
	// fiber is set where the user is on a lane.
	fiber *fiber
	// member is set where the user is one of a closed model's.
	member *member
	// apart: its requests are for the plan's sake, and nobody is shown them.
	apart bool
}

func newWorker(s *session, sh *shard) *worker {
	w := &worker{run: s, wake: make(chan Arrival, 1), shard: sh}
	w.scope = scope{rng: rand.New(&w.pcg), values: make([]value, s.plan.slots)}
	if s.dialer.pool == 0 {
		w.own = make([]*conn, s.origins.count())
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
	w.arrived()
	w.dress()
	if !w.steps(ctx, w.run.plan.choose(w.scope.rng).steps) && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.forget()
}

// dress gives the user its variables and headers.
func (w *worker) dress() {
	if w.member == nil || w.member.crowd.scenario == anyScenario {
		clear(w.scope.values) // of what the user before has captured
	}
	for i := range w.run.plan.variables {
		w.run.plan.variables[i].pick(&w.scope)
	}
	w.deal()
	if w.run.base != nil {
		for _, slot := range w.run.plan.carried {
			w.scope.values[slot] = w.run.base[slot]
		}
	}
	w.extra = w.extra[:0]
	if f := w.run.options.Headers; f != nil {
		w.extra = f(w.extra, w.index)
	}
}

// forget ends what the user has kept: its connections and cookies.
func (w *worker) forget() {
	w.jar = nil
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
			ok = w.rest(ctx, w.due.Add(s.think.length(&w.scope)))
		case s.loop != nil:
			ok = w.loop(ctx, s.loop)
		case s.parallel != nil:
			ok = w.parallel(ctx, s.parallel)
		case s.log != nil:
			w.log(*s.log)
		case s.action != nil:
			ok = s.action.act(ctx, w)
		}
		if !ok {
			return false
		}
	}
	return true
}

// log hands a line of the plan's own to whoever listens.
func (w *worker) log(line template) {
	if f := w.run.options.OnLog; f != nil {
		text := line.render(nil, &w.scope)
		f(w.index, string(text[:min(len(text), maxCaptured)]))
	}
}

// ask sends one request and reads its answer.
func (w *worker) ask(ctx context.Context, q *prepared) bool {
	if q.skip != nil && q.skip(&w.scope) {
		return true
	}
	o := observed{name: q.index, intended: w.due, sent: w.run.now()}
	q, err := w.compose(q, o.sent)
	if err == nil {
		deadline := o.sent.Add(w.run.plan.HTTP.Timeout)
		if q.timeout > 0 {
			deadline = o.sent.Add(q.timeout)
		}
		err = w.exchange(ctx, q, deadline, &o)
		if err == nil {
			w.collect(q)
			if q.follow && redirects(w.ans.status) {
				err = w.follow(ctx, q, deadline, &o)
			}
		}
	}
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
		o.failure = w.judge(q)
	}
	w.shard.record(&o)
	w.show(q, &o)
	return w.answered(&o)
}

// show hands what a request came to to whoever listens.
func (w *worker) show(q *prepared, o *observed) {
	each, onAnswer := w.run.each, w.run.options.OnAnswer
	if each == nil && onAnswer == nil || w.apart {
		return
	}
	a := Answer{
		User: w.index, Name: q.name, Status: o.status, Failure: o.failure,
		Intended: o.intended, Sent: o.sent, Done: o.done,
	}
	if each != nil {
		each(a)
	}
	if onAnswer != nil {
		a.Body = w.ans.body
		onAnswer(a)
	}
}

// compose writes the request into w.out. Where its URL is known only now, the
// request that is returned has it.
func (w *worker) compose(q *prepared, now time.Time) (*prepared, error) {
	if q.address != nil {
		address := q.address.render(nil, &w.scope)
		if len(q.query) > 0 {
			sep := byte('?')
			if bytes.IndexByte(address, sep) >= 0 {
				sep = '&'
			}
			address = q.query.render(append(address, sep), &w.scope)
		}
		located, err := w.run.origins.locate(q.request, string(address))
		if err != nil {
			return q, &redirectError{err.Error()}
		}
		q = located
	}
	if len(q.cookies) > 0 {
		w.bake(q)
	}
	w.out, w.body = q.render(w.out[:0], w.body, &w.scope, w.extra, w.jar, now)
	return q, nil
}

// judge takes what the plan wants out of an answer, and says which kind of
// error the answer is, empty for none.
func (w *worker) judge(q *prepared) string {
	failure, expected := "", false
	if q.reads {
		a := reply{answer: &w.ans, scope: &w.scope}
		// Captures come first: expectations may compare with them.
		failure = q.capture(&a)
		for i := range q.expect {
			if !q.expect[i].holds(&a) {
				return report.ErrorExpectation
			}
		}
		expected = q.expectsStatus()
		// What was read here is not the target's time.
		w.due = w.run.now()
	}
	if w.ans.status >= 500 && !expected && failure == "" {
		return report.ErrorServer
	}
	return failure
}

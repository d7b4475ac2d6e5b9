package load

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// worker carries one virtual user after another: goroutine, buffers and, where
// connections are shared, nothing else outlives a user.
type worker struct {
	run   *session
	wake  chan plan.Arrival
	shard *shard
	pcg   rand.PCG
	scope expr.Scope
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
	w := &worker{run: s, wake: make(chan plan.Arrival, 1), shard: sh}
	w.scope = expr.Scope{RNG: rand.New(&w.pcg), Values: make([]expr.Value, s.plan.Slots)}
	if s.dialer.pool == 0 {
		w.own = make([]*conn, s.origins.count())
	}
	return w
}

// live takes arrivals until the session ends.
func (w *worker) live(ctx context.Context, first plan.Arrival) {
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
func (w *worker) user(ctx context.Context, a plan.Arrival) {
	w.due = w.run.start.Add(a.At)
	w.shard.begun(w.run.now().Sub(w.due))
	w.index = w.run.users.Add(1) - 1
	w.pcg.Seed(w.run.seed, uint64(w.index))
	w.arrived()
	w.dress()
	if !w.steps(ctx, w.run.plan.Choose(w.scope.RNG).Steps) && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.forget()
}

// dress gives the user its variables and headers.
func (w *worker) dress() {
	if w.member == nil || w.member.crowd.Scenario == plan.AnyScenario {
		clear(w.scope.Values) // of what the user before has captured
	}
	for i := range w.run.plan.Variables {
		w.run.plan.Variables[i].Pick(&w.scope)
	}
	w.deal()
	if w.run.base != nil {
		for _, slot := range w.run.plan.Carried {
			w.scope.Values[slot] = w.run.base[slot]
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
func (w *worker) steps(ctx context.Context, steps []plan.Step) bool {
	for i := range steps {
		if w.timeUp() {
			return false
		}
		ok := true
		switch s := &steps[i]; {
		case s.Request != nil:
			ok = w.ask(ctx, w.run.prepared[s.Request])
		case s.Think != nil:
			ok = w.rest(ctx, w.due.Add(s.Think.Length(&w.scope)))
		case s.Loop != nil:
			ok = w.loop(ctx, s.Loop)
		case s.Parallel != nil:
			ok = w.parallel(ctx, s.Parallel)
		case s.Log != nil:
			w.log(*s.Log)
		case s.Action != nil:
			ok = s.Action.Act(ctx, w)
		}
		if !ok {
			return false
		}
	}
	return true
}

// log hands a line of the plan's own to whoever listens.
func (w *worker) log(line expr.Template) {
	if f := w.run.options.OnLog; f != nil {
		text := line.Render(nil, &w.scope)
		f(w.index, string(text[:min(len(text), expr.MaxCaptured)]))
	}
}

// ask sends one request and reads its answer.
func (w *worker) ask(ctx context.Context, q *prepared) bool {
	if q.Skip != nil && q.Skip(&w.scope) {
		return true
	}
	o := observed{name: q.Index, intended: w.due, sent: w.run.now()}
	q, err := w.compose(q, o.sent)
	if err == nil {
		deadline := o.sent.Add(w.run.plan.HTTP.Timeout)
		if q.Timeout > 0 {
			deadline = o.sent.Add(q.Timeout)
		}
		err = w.exchange(ctx, q, deadline, &o)
		if err == nil {
			w.collect(q)
			if q.Follow && redirects(w.ans.status) {
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
		User: w.index, Name: q.Name, Status: o.status, Failure: o.failure,
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
	if q.Address != nil {
		address := q.Address.Render(nil, &w.scope)
		if len(q.Query) > 0 {
			sep := byte('?')
			if bytes.IndexByte(address, sep) >= 0 {
				sep = '&'
			}
			address = q.Query.Render(append(address, sep), &w.scope)
		}
		located, err := w.run.origins.locate(q.Request, string(address))
		if err != nil {
			return q, &redirectError{err.Error()}
		}
		q = located
	}
	if len(q.Cookies) > 0 {
		w.bake(q)
	}
	w.out, w.body = q.render(w.out[:0], w.body, &w.scope, w.extra, w.jar, now)
	return q, nil
}

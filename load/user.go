package load

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// worker runs one virtual user after another and reuses its buffers. Where each
// user has connections of its own, they are closed when the user ends.
type worker struct {
	run      *session
	arrivals chan plan.Arrival
	shard    *shard
	pcg      rand.PCG
	scope    expr.Scope
	index    int64   // of the present virtual user, from 0
	conns    []*conn // the user's own connections by endpoint slot; nil with a pool
	jar      *jar    // the user's cookies; nil until there are some
	out      []byte
	body     []byte
	resp     response
	extra    []string
	due      time.Time // when the user's next request is due
	// fiber is set where the user runs on an event loop.
	fiber *fiber
	// groupUser is set where the user belongs to a group of a closed model.
	groupUser *groupUser
	// unrecorded requests are those of the flows before and after a run: no
	// callback sees them.
	unrecorded bool
}

func newWorker(s *session, sh *shard) *worker {
	w := &worker{run: s, arrivals: make(chan plan.Arrival, 1), shard: sh}
	w.scope = expr.Scope{RNG: rand.New(&w.pcg), Values: make([]expr.Value, s.plan.Slots)}
	if s.dialer.pool == 0 {
		w.conns = make([]*conn, s.origins.count())
	}
	return w
}

// serveArrivals runs one user for each arrival, until the session ends.
func (w *worker) serveArrivals(ctx context.Context, first plan.Arrival) {
	for a, ok := first, true; ok; a, ok = <-w.arrivals {
		w.runUser(ctx, a)
		w.run.inFlight.Add(-1)
		w.run.finished.Add(1)
		if !w.run.park(w) {
			return
		}
	}
}

// runUser runs one virtual user of open arrivals from start to end.
func (w *worker) runUser(ctx context.Context, a plan.Arrival) {
	w.due = w.run.start.Add(a.At)
	w.shard.recordStart(w.run.now().Sub(w.due))
	w.index = w.run.users.Add(1) - 1
	w.pcg.Seed(w.run.seed, uint64(w.index))
	w.joinArrivingGroup()
	w.initUser()
	if !w.runSteps(ctx, w.run.plan.Choose(w.scope.RNG).Steps) && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.dropState()
}

// initUser sets the user's variables and headers.
func (w *worker) initUser() {
	if w.groupUser == nil || w.groupUser.group.Scenario == plan.AnyScenario {
		clear(w.scope.Values) // what the previous user captured
	}
	for i := range w.run.plan.Variables {
		w.run.plan.Variables[i].Fill(&w.scope)
	}
	w.assignRows()
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

// dropState closes the user's connections and drops its cookies.
func (w *worker) dropState() {
	w.jar = nil
	for i, c := range w.conns {
		if c != nil {
			w.run.dialer.close(c)
			w.conns[i] = nil
		}
	}
}

// runSteps runs a flow, and reports whether the user continues. It stops after a
// request that got no response or an unexpected one.
func (w *worker) runSteps(ctx context.Context, steps []plan.Step) bool {
	for i := range steps {
		if w.timeUp() {
			return false
		}
		ok := true
		switch s := &steps[i]; {
		case s.Request != nil:
			ok = w.sendRequest(ctx, w.run.prepared[s.Request])
		case s.Think != nil:
			ok = w.pauseUntil(ctx, w.due.Add(s.Think.Length(&w.scope)))
		case s.Loop != nil:
			ok = w.runLoop(ctx, s.Loop)
		case s.Parallel != nil:
			ok = w.runParallel(ctx, s.Parallel)
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

// log passes a log step's line to Options.OnLog.
func (w *worker) log(line expr.Template) {
	if f := w.run.options.OnLog; f != nil {
		text := line.Render(nil, &w.scope)
		f(w.index, string(text[:min(len(text), expr.MaxCaptured)]))
	}
}

// sendRequest sends one request and reads its response.
func (w *worker) sendRequest(ctx context.Context, q *prepared) bool {
	if q.Skip != nil && q.Skip(&w.scope) {
		return true
	}
	o := observation{name: q.Index, intended: w.due, sent: w.run.now()}
	q, err := w.compose(q, o.sent)
	if err == nil {
		deadline := o.sent.Add(w.run.plan.HTTP.Timeout)
		if q.Timeout > 0 {
			deadline = o.sent.Add(q.Timeout)
		}
		err = w.exchange(ctx, q, deadline, &o)
		if err == nil {
			w.storeCookies(q)
			if q.FollowRedirects && redirects(w.resp.status) {
				err = w.followRedirects(ctx, q, deadline, &o)
			}
		}
	}
	if w.groupUser != nil {
		w.groupUser.observePace(&o)
	}
	o.done = w.run.now()
	// The next step is due when this one is over.
	w.due = o.done
	if err != nil {
		if ctx.Err() != nil {
			w.shard.recordUnfinished(&o)
			return false
		}
		o.failure = failureOf(err)
	} else {
		o.status = w.resp.status
		o.failure = w.evaluate(q)
	}
	w.shard.record(&o)
	w.notify(q, &o)
	return w.continues(&o)
}

// notify passes the result of a request to the callbacks.
func (w *worker) notify(q *prepared, o *observation) {
	each, onResponse := w.run.onResult, w.run.options.OnResult
	if each == nil && onResponse == nil || w.unrecorded {
		return
	}
	a := Result{
		User: w.index, Name: q.Name, Status: o.status, Failure: o.failure,
		Intended: o.intended, Sent: o.sent, Done: o.done,
	}
	if each != nil {
		each(a)
	}
	if onResponse != nil {
		a.Body = w.resp.body
		onResponse(a)
	}
}

// compose writes the request into w.out. The request that it returns has a URL
// even where the plan's has one only once it is rendered.
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
		located, err := w.run.origins.prepareURL(q.Request, string(address))
		if err != nil {
			return q, &redirectError{err.Error()}
		}
		q = located
	}
	if len(q.Cookies) > 0 {
		w.setPlanCookies(q)
	}
	w.out, w.body = q.render(w.out[:0], w.body, &w.scope, w.extra, w.jar, now)
	return q, nil
}

package load

import (
	"context"
	"math/rand/v2"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

// worker runs one virtual user after another and reuses its buffers. Where each
// user has connections of its own, they are closed when the user ends.
type worker struct {
	run      *session
	arrivals chan plan.Arrival
	shard    *shard
	pcg      rand.PCG
	scope    expr.Scope
	index    int64 // of the present virtual user, from 0
	client   *wire.Client
	due      time.Time // when the user's next request is due
	// fiber is set where the user runs on an event loop.
	fiber *engine.Fiber
	// groupUser is set where the user belongs to a group of a closed model.
	groupUser *groupUser
	// unrecorded requests are those of the flows before and after a run: no
	// callback sees them.
	unrecorded bool
}

func newWorker(s *session, sh *shard) *worker {
	w := &worker{run: s, arrivals: make(chan plan.Arrival, 1), shard: sh, client: s.network.NewClient()}
	w.scope = expr.Scope{RNG: rand.New(&w.pcg), Values: make([]expr.Value, s.plan.Slots)}
	return w
}

// useFiber makes the worker run on an event loop; nil: on a goroutine.
func (w *worker) useFiber(f *engine.Fiber, l *userLoop) {
	w.fiber = f
	var pools *wire.LoopPools
	if l != nil {
		pools = l.pools
	}
	w.client.UseFiber(f, pools)
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
	w.client.Reset()
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
	w.client.Number = w.index
	w.client.Headers = w.client.Headers[:0]
	if f := w.run.options.Headers; f != nil {
		w.client.Headers = f(w.client.Headers, w.index)
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
			ok = w.sendRequest(ctx, s.Request)
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
func (w *worker) sendRequest(ctx context.Context, q *plan.Request) bool {
	if q.Skip != nil && q.Skip(&w.scope) {
		return true
	}
	o := observation{name: q.Index, intended: w.due, Timing: wire.Timing{Sent: w.run.now()}}
	deadline := o.Sent.Add(w.run.plan.HTTP.Timeout)
	if q.Timeout > 0 {
		deadline = o.Sent.Add(q.Timeout)
	}
	err := w.client.Send(ctx, q, &w.scope, deadline, &o.Timing)
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
		o.failure = wire.FailureKind(err)
	} else {
		o.status = w.client.Status()
		o.failure = w.evaluate(q)
	}
	w.shard.record(&o)
	w.notify(q, &o)
	return w.continues(&o)
}

// notify passes the result of a request to the callbacks.
func (w *worker) notify(q *plan.Request, o *observation) {
	each, onResponse := w.run.onResult, w.run.options.OnResult
	if each == nil && onResponse == nil || w.unrecorded {
		return
	}
	a := Result{
		User: w.index, Name: q.Name, Status: o.status, Failure: o.failure,
		Intended: o.intended, Sent: o.Sent, Done: o.done,
	}
	if each != nil {
		each(a)
	}
	if onResponse != nil {
		a.Body = w.client.Body()
		onResponse(a)
	}
}

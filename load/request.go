package load

import (
	"cmp"
	"context"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// sendRequest sends one request and reads its response.
func (u *user) sendRequest(ctx context.Context, q *plan.Request) bool {
	if q.Skip != nil && q.Skip(&u.scope) {
		return true
	}
	o := &u.seen
	*o = observation{name: q.Index}
	if q.Prepare != nil {
		made, err := q.Prepare(ctx, u)
		if err != nil {
			o.intended, o.Sent, o.done = u.due, u.due, u.due
			o.failure, o.err = report.ErrorScript, err
			return u.ended(ctx, q, o)
		}
		q = made
	}
	o.intended, o.Sent = u.due, u.run.now()
	deadline := o.Sent.Add(u.run.plan.HTTP.Timeout)
	if q.Timeout > 0 {
		deadline = o.Sent.Add(q.Timeout)
	}
	err := u.client.Send(ctx, q, &u.scope, deadline, &o.Timing)
	u.observePace(o)
	// The next step is due when this one is over.
	if err != nil {
		o.done = u.run.now()
		u.due = o.done
		o.failure, o.err = wire.FailureKind(err), err
		u.captureError(ctx, q, o)
	} else {
		o.done = o.Last
		u.due = o.done
		o.status = u.client.Status()
		u.evaluate(ctx, q, o)
	}
	return u.ended(ctx, q, o)
}

// ended counts a request that is over, and reports whether the user continues.
func (u *user) ended(ctx context.Context, q *plan.Request, o *observation) bool {
	if o.status == 0 && ctx.Err() != nil {
		u.shard.recordUnfinished(o)
		return false
	}
	u.shard.record(o)
	u.notify(q, o)
	if !o.unseen {
		u.Concludes(o.failure != "" && !o.forgiven)
	}
	if o.failure == report.ErrorGenerator && u.group != nil && !u.PauseUntil(ctx, o.done.Add(generatorPause)) {
		return false // there will be no more of what this machine lacks at once
	}
	return u.continues(o)
}

// generatorPause is how long a closed user waits after a request for which this machine had
// no more: its retries would keep a core busy.
const generatorPause = time.Second

// notify passes the result of a request to the callback.
func (u *user) notify(q *plan.Request, o *observation) {
	f := u.run.onResult
	if f == nil || u.unrecorded {
		return
	}
	f(Result{
		User: u.index, Name: q.Name, Status: o.status, Failure: o.failure, Body: u.client.Body(),
		Intended: o.intended, Sent: o.Sent, Done: o.done,
	})
}

// continues reports whether a user goes on to its next step after a request.
func (u *user) continues(o *observation) bool {
	if o.unseen {
		return true
	}
	if u.group == nil {
		return !u.failed || o.failure == report.ErrorServer || o.mild
	}
	if !u.failed {
		return true
	}
	switch u.group.OnError {
	case plan.NextStep:
		return true
	case plan.EndUser:
		u.endedByError = true
	case plan.EndRun, plan.EndRunNow:
		u.StopAll(u.group.OnError == plan.EndRunNow)
	}
	return false
}

// observePace notes the time since the user's previous request.
func (u *user) observePace(o *observation) {
	if u.group == nil {
		return
	}
	o.group = u.group.index + 1 // of open arrivals: 0
	if u.requests > 0 {
		o.gap = o.Sent.Sub(u.sent)
	}
	u.requests++
	u.sent = o.Sent
}

// captureValues sets the variables that the request captures from a response.
// Where a required value is missing, it sets none and returns the kind of the
// failure and what was missing.
func captureValues(r *plan.Request, a *expr.Response) (kind, what string) {
	var few [8]expr.Value
	values := few[:0]
	for i := range r.Captures {
		c := &r.Captures[i]
		v, ok := c.Extract(a)
		if ok && c.Slot < 0 {
			got := v.Text
			if c.Typed {
				got = v.JSON
			}
			ok = got == string(c.Want.Render(nil, a.Scope))
		}
		switch {
		case !ok && c.Strict && c.Slot < 0:
			return report.ErrorExpectation, c.What
		case !ok && c.Strict:
			return report.ErrorCapture, c.What
		}
		values = append(values, v)
	}
	for i := range r.Captures {
		if c := &r.Captures[i]; c.Slot >= 0 {
			a.Scope.Values[c.Slot] = values[i]
		}
	}
	return "", ""
}

// captureError lets the captures see a request that got no response.
func (u *user) captureError(ctx context.Context, q *plan.Request, o *observation) {
	if !q.CapturesErrors || ctx.Err() != nil {
		return
	}
	a := expr.Response{Scope: &u.scope, Elapsed: o.done.Sub(o.Sent)}
	a.URL = u.client.Asked()
	captureValues(q, &a)
	o.forgiven, o.unseen = a.Verdict == expr.Succeeded, a.Unseen
	u.due = u.run.now()
}

// evaluate captures values from a response, checks its expectations and calls what the
// plan calls with it. It notes the kind of error, if there is one.
func (u *user) evaluate(ctx context.Context, q *plan.Request, o *observation) {
	expected := false
	if len(q.Captures) > 0 || len(q.Expect) > 0 || q.Respond != nil {
		a := u.client.Response(&u.scope)
		a.Elapsed = o.done.Sub(o.Sent)
		// Captures come first: expectations may compare with them.
		o.failure, o.why = captureValues(q, &a)
		if q.Respond != nil {
			if err := q.Respond(ctx, u, &a); err != nil && o.failure == "" {
				o.failure, o.err = report.ErrorScript, err
			}
		}
		for i := range q.Expect {
			if o.failure == "" && !q.Expect[i].Holds(&a) {
				o.failure, o.mild = report.ErrorExpectation, !q.EndsOnExpect
				o.why = cmp.Or(q.Expect[i].What, a.Why)
			}
		}
		expected = q.ExpectsStatus() || a.Verdict == expr.Succeeded
		o.unseen = a.Unseen
		// The time for evaluation is not the target's.
		u.due = u.run.now()
	}
	if u.client.Status() >= 500 && !expected && o.failure == "" {
		o.failure = report.ErrorServer
	}
}

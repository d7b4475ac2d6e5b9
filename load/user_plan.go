package load

import (
	"context"
	"sync"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// The following methods are those of plan.User.

var _ plan.User = (*user)(nil)

// Scope returns the user's variables.
func (u *user) Scope() *expr.Scope { return &u.scope }

// Now is the clock of the user's run.
func (u *user) Now() time.Time { return u.run.now() }

// Number is the user's within its group.
func (u *user) Number() int { return u.number }

// Group is the group's name; empty without one.
func (u *user) Group() string {
	if u.group == nil {
		return ""
	}
	return u.group.Name
}

// Failed says that the user's last request did.
func (u *user) Failed() bool { return u.failed }

// Due is when the next step is due.
func (u *user) Due() time.Time { return u.due }

// Stop ends the user after its present step.
func (u *user) Stop() { u.done = true }

// StopAll ends the run early.
func (u *user) StopAll(now bool) {
	end := &u.run.end
	end.early.Store(true)
	end.halt()
	if now {
		end.abort()
	}
}

// Loop is which loop of its flow the user is in.
func (u *user) Loop() int64 { return u.loop }

// RequestsSent is the number of requests so far.
func (u *user) RequestsSent() int64 { return u.requests }

// GroupIndex is −1 for users of open arrivals.
func (u *user) GroupIndex() int {
	if u.group == nil {
		return -1
	}
	return u.group.index
}

// InGroup is the number of users of the group under way.
func (u *user) InGroup() int64 {
	if u.group == nil {
		return 0
	}
	return u.group.active.Load()
}

// InFlight is the number of users of the run under way.
func (u *user) InFlight() int64 { return u.run.inFlight.Load() }

// Part is the process's part of the run.
func (u *user) Part() (index, of int64) {
	p := u.run.options.Part
	return int64(p.Index), max(int64(p.Of), 1)
}

// ClearCookies drops the user's cookies.
func (u *user) ClearCookies() { u.client.ClearCookies() }

// WaitedForScript counts the wait for the engine as the generator's lateness, as a
// late wake-up is.
func (u *user) WaitedForScript(d time.Duration) {
	if d > time.Millisecond {
		u.shard.recordLateWake(d)
	}
	u.due = u.run.now()
}

// ScriptFailed counts an error of a script outside of a request.
func (u *user) ScriptFailed(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		u.shard.recordStepError(report.ErrorScript, err)
	}
	u.Concludes(true)
	return false
}

// Concludes is how Failed is decided on.
func (u *user) Concludes(failed bool) {
	if u.failed = failed; failed {
		u.failures++
	}
}

// Failures is the number of samples that failed.
func (u *user) Failures() int64 { return u.failures }

// Sampled counts the failure of a step that sent nothing.
func (u *user) Sampled(kind string, err error) bool {
	if u.Concludes(kind != ""); u.failed {
		u.shard.recordStepError(kind, err)
	}
	return u.continues(&observation{failure: kind, mild: true})
}

// State may be called only by the user's own goroutine or fiber.
func (u *user) State(of expr.StateOf, key any, init func() any) any {
	switch of {
	case expr.StateOfRun:
		return loadOrStore(&u.run.shared.state, key, init)
	case expr.StateOfBlock:
		return loadOrStore(&u.run.state, key, init)
	default:
	}
	v, ok := u.state[key]
	if !ok {
		if u.state == nil {
			u.state = map[any]any{}
		}
		v = init()
		u.state[key] = v
	}
	return v
}

func loadOrStore(all *sync.Map, key any, init func() any) any {
	if v, ok := all.Load(key); ok {
		return v
	}
	v, _ := all.LoadOrStore(key, init())
	return v
}

package load

import (
	"context"
	"sync"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// The following implements plan.User and expr.User, the view that actions and
// functions of a JMeter plan have of a virtual user.

func (w *worker) Scope() *expr.Scope { return &w.scope }

func (w *worker) RunSteps(ctx context.Context, steps []plan.Step) bool { return w.runSteps(ctx, steps) }

func (w *worker) Due() time.Time { return w.due }

func (w *worker) PauseUntil(ctx context.Context, until time.Time) bool {
	return w.pauseUntil(ctx, until)
}

func (w *worker) TimeUp() bool { return w.timeUp() }

func (w *worker) Stop() { w.groupUser.done = true }

func (w *worker) RequestsSent() int64 { return w.groupUser.requests }

func (w *worker) GroupIndex() int { return w.groupUser.group.index }

func (w *worker) InGroup() int64 { return w.groupUser.group.active.Load() }

func (w *worker) InFlight() int64 { return w.run.inFlight.Load() }

func (w *worker) ClearCookies() { w.client.ClearCookies() }

func (m *groupUser) Now() time.Time { return m.run.now() }

func (m *groupUser) Number() int { return m.number }

func (m *groupUser) Group() string { return m.group.Name }

func (m *groupUser) Failed() bool { return m.failed }

// UserState may be called only by the user's own goroutine or fiber.
func (m *groupUser) UserState(key any, init func() any) any {
	v, ok := m.state[key]
	if !ok {
		if m.state == nil {
			m.state = map[any]any{}
		}
		v = init()
		m.state[key] = v
	}
	return v
}

func (m *groupUser) RunState(key any, init func() any) any {
	return loadOrStore(&m.run.shared.state, key, init)
}

func (m *groupUser) BlockState(key any, init func() any) any {
	return loadOrStore(&m.run.state, key, init)
}

func loadOrStore(all *sync.Map, key any, init func() any) any {
	if v, ok := all.Load(key); ok {
		return v
	}
	v, _ := all.LoadOrStore(key, init())
	return v
}

package load

import (
	"context"
	"sync"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// What follows is the user that a JMeter plan's actions and functions see.

func (w *worker) Scope() *expr.Scope { return &w.scope }

func (w *worker) Steps(ctx context.Context, steps []plan.Step) bool { return w.steps(ctx, steps) }

func (w *worker) Due() time.Time { return w.due }

func (w *worker) Rest(ctx context.Context, until time.Time) bool { return w.rest(ctx, until) }

func (w *worker) TimeUp() bool { return w.timeUp() }

func (w *worker) Leave() { w.member.done = true }

func (w *worker) Asked() int64 { return w.member.asked }

func (w *worker) GroupIndex() int { return w.member.crowd.index }

func (w *worker) InGroup() int64 { return w.member.crowd.active.Load() }

func (w *worker) InFlight() int64 { return w.run.inFlight.Load() }

func (w *worker) ForgetCookies() { w.jar = nil }

func (m *member) Now() time.Time { return m.run.now() }

func (m *member) Number() int { return m.number }

func (m *member) Group() string { return m.crowd.Name }

func (m *member) Failed() bool { return m.failed }

// Own is only for the goroutine or fiber of the user.
func (m *member) Own(key any, fresh func() any) any {
	v, ok := m.own[key]
	if !ok {
		if m.own == nil {
			m.own = map[any]any{}
		}
		v = fresh()
		m.own[key] = v
	}
	return v
}

func (m *member) Shared(key any, fresh func() any) any {
	return held(&m.run.common.kept, key, fresh)
}

func (m *member) SharedInBlock(key any, fresh func() any) any {
	return held(&m.run.kept, key, fresh)
}

func held(all *sync.Map, key any, fresh func() any) any {
	if v, ok := all.Load(key); ok {
		return v
	}
	v, _ := all.LoadOrStore(key, fresh())
	return v
}

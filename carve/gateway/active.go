package gateway

import (
	"sync/atomic"
	"time"

	"whittle/internal/notify"
)

// active counts the requests under way. Unlike a WaitGroup it may grow during a wait,
// and a wait has a time limit.
type active struct {
	n     atomic.Int64
	empty atomic.Pointer[notify.Signal] // set while somebody waits
}

func (a *active) enter() { a.n.Add(1) }

func (a *active) exit() {
	if a.n.Add(-1) > 0 {
		return
	}
	if s := a.empty.Load(); s != nil {
		s.Notify()
	}
}

// wait returns when nothing is under way, or after limit.
func (a *active) wait(limit time.Duration) {
	none := notify.New()
	a.empty.Store(&none)
	none.Await(limit, func() bool { return a.n.Load() <= 0 })
}

package gateway

import (
	"sync/atomic"
	"time"
)

// active counts the requests under way. It is a WaitGroup that may grow while
// somebody waits, and that can be waited for within a time.
type active struct {
	n     atomic.Int64
	empty atomic.Pointer[chan struct{}] // set while somebody waits
}

func (a *active) enter() { a.n.Add(1) }

func (a *active) exit() {
	if a.n.Add(-1) > 0 {
		return
	}
	if ch := a.empty.Load(); ch != nil {
		select {
		case *ch <- struct{}{}:
		default: // it knows already
		}
	}
}

// wait returns when nothing is under way, or after limit.
func (a *active) wait(limit time.Duration) {
	ch := make(chan struct{}, 1)
	a.empty.Store(&ch)
	t := time.NewTimer(limit)
	defer t.Stop()
	for a.n.Load() > 0 {
		select {
		case <-ch:
		case <-t.C:
			return
		}
	}
}

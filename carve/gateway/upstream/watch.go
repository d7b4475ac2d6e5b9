package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"whittle/carve/gateway/inbound"
)

// What an upstream did not do in its time.
var (
	errUntaken = fmt.Errorf("the upstream took no more of the request's body: %w", os.ErrDeadlineExceeded)
	errSlow    = fmt.Errorf("the upstream gave no response: %w", os.ErrDeadlineExceeded)
	errSilent  = fmt.Errorf("the upstream fell silent in its response's body: %w", os.ErrDeadlineExceeded)
)

// watch ends an exchange through net/http, which knows no deadline for either
// body, when the upstream neither takes nor gives anything for too long. Time in
// which the client is waited for does not count. A nil watch ends nothing.
type watch struct {
	body   *inbound.Body // nil: the request has none
	cancel context.CancelFunc
	timer  *time.Timer

	mu sync.Mutex // guards the following
	// limit is how long may pass from since on; 0: nothing is being watched.
	limit time.Duration
	since time.Time
	// late is what the upstream fails with; why, that it has.
	late, why error
}

// watched gives the context of an exchange, which its watch may end.
func watched(ctx context.Context, body *inbound.Body, p *patience) (context.Context, *watch) {
	w := &watch{body: body}
	ctx, w.cancel = context.WithCancel(ctx)
	if body != nil {
		w.limit, w.since, w.late = p.write, time.Now(), errUntaken
		w.timer = time.AfterFunc(p.write, w.check)
	}
	return ctx, w
}

// wait begins to wait for bytes of the response.
func (w *watch) wait(limit time.Duration) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.since, w.late = limit, time.Now(), errSilent
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.check)
		return
	}
	w.timer.Reset(limit)
}

// await begins to wait for the head of the response.
func (w *watch) await(limit time.Duration) {
	w.wait(limit)
	w.mu.Lock()
	w.late = errSlow
	w.mu.Unlock()
}

// sent says that the request's body has been sent. From then on the head of the response is
// waited for. It does nothing where nobody waits any more.
func (w *watch) sent(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit > 0 && errors.Is(w.late, errUntaken) {
		w.limit, w.since, w.late = limit, time.Now(), errSlow
		w.timer.Reset(limit)
	}
}

// rest ends a wait: nothing is being watched.
func (w *watch) rest() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = 0
	if w.timer != nil {
		w.timer.Stop()
	}
}

// check ends the exchange, or looks again when it may have to.
func (w *watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == 0 || w.why != nil {
		return
	}
	idle := time.Since(w.since)
	if w.body != nil {
		idle = min(idle, w.body.Untaken())
	}
	if idle < w.limit {
		w.timer.Reset(w.limit - idle)
		return
	}
	w.why = w.late
	w.cancel()
}

// because prefers what the watch found to what it did to the exchange.
func (w *watch) because(err error) error {
	if w == nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.why != nil {
		return w.why
	}
	return err
}

// end releases the context.
func (w *watch) end() {
	if w == nil {
		return
	}
	w.rest()
	w.cancel()
}

// contentType is the response's, "" for none.
func contentType(h http.Header) string {
	if v := h["Content-Type"]; len(v) > 0 {
		return v[0]
	}
	return ""
}

package front

import (
	"context"
	"sync"
	"time"
)

// deadlines returns contexts with the deadline of an append. Appends that begin
// at about the same time share one: a context with a timer for each would cost
// as much as claiming the event's id.
type deadlines struct {
	limit time.Duration

	mu     sync.Mutex      // guards the following
	shared context.Context //nolint:containedctx // it is for the calls, and ends by itself
	begun  time.Time       // by the front's clock
}

// sharedFor is which part of the limit an append may be given beyond it.
const sharedFor = 16

// context returns one that ends when the limit is over, or a sixteenth later.
func (p *deadlines) context(now time.Time) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := now.Sub(p.begun); p.shared == nil || age < 0 || age >= p.limit/sharedFor || p.shared.Err() != nil {
		ctx, cancel := context.WithTimeout(context.Background(), p.limit+p.limit/sharedFor)
		_ = cancel // others may still wait by it when the next one is made
		p.shared, p.begun = ctx, now
	}
	return p.shared
}

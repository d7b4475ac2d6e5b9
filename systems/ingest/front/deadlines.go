package front

import (
	"context"
	"sync/atomic"
	"time"
)

// deadlines returns contexts with the deadline of an append. Appends that begin
// at about the same time share one: a context with a timer for each would cost
// as much as claiming the event's id.
type deadlines struct {
	limit  time.Duration
	shared atomic.Pointer[deadline] // nil: there was none yet
}

type deadline struct {
	ctx   context.Context //nolint:containedctx // it is for the calls, and ends by itself
	begun time.Time       // by the front's clock
}

// sharedFor is which part of the limit an append may be given beyond it.
const sharedFor = 16

// context returns one that ends when the limit is over, or a sixteenth later.
func (p *deadlines) context(now time.Time) context.Context {
	had := p.shared.Load()
	if had != nil {
		if age := now.Sub(had.begun); age >= 0 && age < p.limit/sharedFor && had.ctx.Err() == nil {
			return had.ctx
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.limit+p.limit/sharedFor)
	if p.shared.CompareAndSwap(had, &deadline{ctx, now}) {
		_ = cancel // others may still wait by it when the next one is made
		return ctx
	}
	cancel() // somebody else has just made one
	return p.shared.Load().ctx
}

package control

import (
	"context"

	"whittle"
	"whittle/carve/rollout"
)

// Order carries out a manual order. When it returns nil, the order is in force and on
// disk. A fall is in force even if Order returns an error, which then says that it is
// not on disk. Errors are *whittle.Error: NotFound for an unknown route, those of
// rollout.Command for an order that is wrong or refused, Unavailable while the
// controller does not run.
func (c *Controller) Order(ctx context.Context, name string, o rollout.Order) error {
	r := c.find(name)
	if r == nil {
		return unknown(name)
	}
	done, err := r.order(o)
	if err != nil || done == nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return whittle.Errorf(whittle.DeadlineExceeded, "the order was given, but the disk or a proxy has not confirmed it: %w", ctx.Err())
	}
}

// order returns a buffered channel that gets nil when the order is in force and on
// disk. It returns a nil channel if there is nothing to wait for. An order that can
// only lower the share waits for no comparison and no encoding.
func (r *route) order(o rollout.Order) (<-chan error, error) {
	if o.Lowers() {
		r.mu.Lock()
		defer r.mu.Unlock()
	} else {
		r.gather()
		defer r.release()
		r.input()
	}
	switch {
	case !r.disk.open || r.frozen:
		return nil, whittle.Errorf(whittle.Unavailable, "whittle takes no orders now: it is starting, reloading or shutting down")
	case o.Generation != 0 && o.Generation != r.generation && !o.Lowers():
		return nil, whittle.Errorf(whittle.FailedPrecondition, "the order is for generation %d of the route, which is now at %d", o.Generation, r.generation).
			WithHint("look at the status again, and give the order if it still fits")
	case r.rise != nil && o.Kind == rollout.Promote:
		return nil, whittle.Errorf(whittle.FailedPrecondition, "a promotion is under way already").
			WithHint("ask for the status in a moment")
	}
	next, d, err := rollout.Command(r.spec.Rollout, r.st, r.in, o, r.c.o.Now())
	if err != nil || d == nil {
		return nil, err
	}
	r.st.Refused = next.Refused // as in step
	if next.Share > r.st.Share {
		if !r.mayRise() {
			return nil, whittle.Errorf(whittle.Unavailable, "no share rises until the fleet's last decision is known").
				WithHint("give the order again in a moment; whittle fleet says what is wrong")
		}
		return r.propose(next, *d).done, nil
	}
	if o.Kind == rollout.Reset {
		judge, err := r.c.o.NewJudge(r.spec.Compare)
		if err != nil {
			return nil, err
		}
		r.ev.guard.Reset()
		r.ev.queries.reset()
		r.afresh(judge, r.ev.guard)
	}
	r.settle(next, *d)
	w := waiter{gen: r.disk.gen, done: make(chan error, 1)}
	r.disk.waiters = append(r.disk.waiters, w)
	return w.done, nil
}

func unknown(name string) error {
	return whittle.Errorf(whittle.NotFound, "there is no route %q with a candidate", name).
		WithHint("whittle status lists the routes")
}

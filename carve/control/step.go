package control

import "errors"

// Step makes the decisions that are due now by the clock, saves them and puts them in
// force, all on the caller's goroutine. A simulation with its own clock calls it
// instead of Run; it must not be called while Run is running. The error is the
// store's; a rise that it prevented is retried by a later Step. Orders are carried
// out from the first Step on. Whether one is on disk is known after the next Step.
func (c *Controller) Step() error {
	c.Start()
	var errs []error
	for _, r := range c.routes() {
		r.step(true)
		r.remember()
		r.mu.Lock()
		r.disk.open = true
		due := r.disk.saved < r.disk.gen && !r.c.o.Now().Before(r.disk.retryAt)
		r.mu.Unlock()
		if due {
			errs = append(errs, r.saveOnce())
		}
	}
	return errors.Join(errs...)
}

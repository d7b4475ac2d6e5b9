package control

import "errors"

// Step makes the decisions that are due at the clock's present moment and puts
// them into the store and in force, all on the caller's goroutine. It takes the
// place of Run for a simulation on a clock of its own, and is not called while
// Run is under way. The error is of the store; what it kept from rising is tried
// again by a later Step. Orders are carried out from the first Step on; that one is
// on disk is known after the next.
func (c *Controller) Step() error {
	c.Start()
	var errs []error
	for _, r := range c.routes() {
		r.step(true)
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

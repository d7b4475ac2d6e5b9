package plan

import "sync/atomic"

// Console passes on what a plan's scripts print. All copies of a plan have the same.
type Console struct {
	to atomic.Pointer[func(line string)]
}

// Print passes a line on.
func (c *Console) Print(line string) {
	if f := c.to.Load(); f != nil {
		(*f)(line)
	}
}

// To sets where lines go from now on.
func (c *Console) To(f func(line string)) { c.to.Store(&f) }

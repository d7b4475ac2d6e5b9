// Package lifetime is the context of a request that a server serves: it ends when the
// client goes or the request does, and costs next to nothing as long as nobody asks.
package lifetime

import (
	"context"
	"sync"
	"time"
)

// Values gives what a context is asked for by key; nil: there is nothing.
type Values interface {
	Value(key any) any
}

// Context implements context.Context. It has no deadline. Init comes before all else.
type Context struct {
	values Values

	mu    sync.Mutex // guards the following
	err   error
	done  chan struct{}
	after map[*func()]struct{}
	// watched is what Watch was given; unwatch is its stop, made once.
	watched func()
	unwatch func() bool
}

// Init makes c a context that has not ended.
func (c *Context) Init(v Values) { c.values = v }

// New makes a context that has not ended.
func New(v Values) *Context { return &Context{values: v} }

// Watch is AfterFunc for one at a time, whose stop is called once: it allocates once in
// a context's life.
func (c *Context) Watch(f func()) (stop func() bool) {
	c.mu.Lock()
	if c.err == nil && c.watched == nil {
		c.watched = f
		if c.unwatch == nil {
			c.unwatch = c.stopWatching
		}
		c.mu.Unlock()
		return c.unwatch
	}
	c.mu.Unlock()
	return c.AfterFunc(f)
}

func (c *Context) stopWatching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	stopped := c.watched != nil
	c.watched = nil
	return stopped
}

// Deadline implements context.Context.
func (c *Context) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.values.Value(key) }

// AfterFunc is for package context: what derives from this one needs no goroutine.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, stopped := c.after[&f]
		delete(c.after, &f)
		return stopped
	}
}

// Cancel ends the context; more than once does no harm.
func (c *Context) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
	for f := range c.after {
		go (*f)()
	}
	if c.watched != nil {
		go c.watched()
	}
	c.after, c.watched = nil, nil
}

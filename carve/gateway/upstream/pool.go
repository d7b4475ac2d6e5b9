package upstream

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pool keeps connections to one instance that speaks plain HTTP/1.1. A request
// takes one for itself, works on it from its own goroutine, and puts it back after
// a clean end.
type pool struct {
	// address is that of the instance.
	address string
	dial    func(ctx context.Context) (net.Conn, error)
	// slots bounds the connections of all the upstream's pools: a request holds one
	// while it runs, and takes an idle connection before it dials.
	slots    *slots
	patience patience
	// running counts the requests that have or open a connection.
	running atomic.Int64

	mu     sync.Mutex // guards the following
	idle   []*conn    // the most recently used last
	closed bool
	reaper *time.Timer // armed while idle is not empty
}

// trusted is how long after its last use an idle connection may carry a request
// that can be sent only once. An upstream closes an idle connection whenever it
// likes, also while a request is on its way to it; one with a single busy
// thread closes it with the request unread, since it looks at its clock before
// it looks at its sockets. What was in use a moment ago is in no such danger:
// servers wait for seconds (Node and Apache httpd 5, gunicorn 2).
const trusted = time.Second

// reuse says which idle connections a request may take.
type reuse uint8

const (
	reuseNone    reuse = iota
	reuseTrusted       // those used within trusted
	reuseAny
)

func newPool(dial func(ctx context.Context) (net.Conn, error), slots *slots, patience patience) *pool {
	p := &pool{dial: dial, slots: slots, patience: patience}
	p.reaper = time.AfterFunc(time.Hour, p.reap)
	p.reaper.Stop()
	return p
}

// get gives a connection that nobody else uses: an idle one as far as may allows, else a
// new one. The caller has a slot.
func (p *pool) get(ctx context.Context, may reuse) (*conn, error) {
	p.running.Add(1)
	for c := p.pop(may); c != nil; c = p.pop(may) {
		if c.usable() {
			c.reused = true
			return c, nil
		}
		_ = c.net.Close() // the upstream had ended it already
	}
	nc, err := p.dial(ctx)
	if err != nil {
		p.running.Add(-1)
		return nil, err
	}
	return newConn(p, nc), nil
}

// pop takes the idle connection that was used last. Where even that one may not be used, the
// oldest makes room for the one that is dialled instead.
func (p *pool) pop(may reuse) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	switch {
	case last < 0 || may == reuseNone:
		return nil
	case may == reuseTrusted && time.Since(p.idle[last].idleSince) > trusted:
		_ = p.idle[0].net.Close() // idle: nothing is lost
		p.idle = slices.Delete(p.idle, 0, 1)
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// put takes a connection back, whether it can be used again or not.
func (p *pool) put(c *conn, usable bool) {
	if !usable || !p.keep(c) {
		_ = c.net.Close() // its result changes nothing
	}
	p.running.Add(-1)
}

func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	c.idleSince = c.now
	if len(p.idle) == 0 {
		p.reaper.Reset(idleTimeout)
	}
	p.idle = append(p.idle, c)
	return true
}

// reap closes what has been idle too long: the oldest are first.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut, limit := 0, time.Now().Add(-idleTimeout)
	for cut < len(p.idle) && p.idle[cut].idleSince.Before(limit) {
		_ = p.idle[cut].net.Close() // idle: nothing is lost
		cut++
	}
	p.idle = append(p.idle[:0:0], p.idle[cut:]...)
	if len(p.idle) > 0 {
		p.reaper.Reset(idleTimeout / 4)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.reaper.Stop()
	for _, c := range p.idle {
		_ = c.net.Close() // idle: nothing is lost
	}
	p.idle = nil
}

package wire

import (
	"context"
	"crypto/tls"
	"time"

	"whittle/load/engine"
)

// LoopPools opens the connections of one event loop, and keeps those of its part of
// the pools. It belongs to the loop's goroutine.
type LoopPools struct {
	loop  *engine.Loop
	now   func() time.Time
	size  int // connections per endpoint; 0: no pool
	pools map[*endpoint]*loopPool
}

// loopPool holds one event loop's kept-alive connections to one endpoint.
type loopPool struct {
	slots *engine.Semaphore
	idle  []*conn // most recently used last
}

// NewLoopPools makes the pools of a loop, of size connections to each server.
func (n *Network) NewLoopPools(l *engine.Loop, size int) *LoopPools {
	return &LoopPools{loop: l, now: n.now, size: size, pools: map[*endpoint]*loopPool{}}
}

// acquire implements connector.
func (l *LoopPools) acquire(e *endpoint, deadline time.Time) (*conn, error) {
	p := l.pools[e]
	if p == nil {
		p = &loopPool{slots: l.loop.NewSemaphore(l.size)}
		l.pools[e] = p
	}
	if err := p.slots.Acquire(deadline); err != nil {
		return nil, err
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if c.staysOpen(l.now()) {
			return c, nil
		}
		_ = c.Close() // the peer has closed it already, or is about to
	}
	return nil, nil
}

// release implements connector.
func (l *LoopPools) release(e *endpoint, c *conn) {
	p := l.pools[e]
	if c != nil {
		p.idle = append(p.idle, c)
	}
	p.slots.Release()
}

// dial implements connector: without TLS, which loops do not speak.
func (l *LoopPools) dial(ctx context.Context, e *endpoint, _ tls.ClientSessionCache, deadline time.Time) (*conn, error) {
	k, err := l.loop.Dial(ctx, e.address, deadline)
	if err != nil {
		return nil, err
	}
	c := &conn{stream: k}
	c.begin(e, l.now)
	return c, nil
}

func (l *LoopPools) close(c *conn) { _ = c.Close() } // closed either way

// CloseIdle closes the idle connections, once no fiber uses them any more.
func (l *LoopPools) CloseIdle() {
	for _, p := range l.pools {
		for _, c := range p.idle {
			_ = c.Close() // unused
		}
		p.idle = nil
	}
}

package wire

import (
	"context"

	"whittle/load/engine"
)

// sharedSlot is a slot of a pool for one connection that many requests share.
type sharedSlot struct {
	// lock guards conn, and is held while it is dialled again. It is a channel so
	// that waiting for it can be cancelled.
	lock chan struct{}
	conn *conn
}

// sharedConn returns the pool's connection for user i, and dials it where it is
// missing or unusable.
func (d *dialer) sharedConn(ctx context.Context, e *endpoint, i int64, dial func() (*conn, error)) (*conn, error) {
	d.mu.Lock()
	if d.shared[e] == nil {
		for range d.pool {
			d.shared[e] = append(d.shared[e], &sharedSlot{lock: make(chan struct{}, 1)})
		}
	}
	b := d.shared[e][int(i)%d.pool]
	d.mu.Unlock()
	select {
	case b.lock <- struct{}{}:
	case <-d.aborted:
		return nil, engine.ErrAborted
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.lock }()
	if b.conn != nil {
		x := b.conn.stream.(*http2Conn)
		if !x.unusable() {
			return b.conn, nil
		}
		if x.client.InFlight() == 0 {
			d.close(b.conn)
		} // else the server closes it after its last response
		b.conn = nil
	}
	c, err := dial()
	b.conn = c
	return c, err
}

// closeShared closes the shared connections once nothing uses them. The caller
// holds d.mu.
func (d *dialer) closeShared() {
	for _, slots := range d.shared {
		for _, b := range slots {
			if b.conn != nil {
				delete(d.open, b.conn)
				b.conn.Close()
				b.conn = nil
			}
		}
	}
}

package load

import "context"

// berth is one of a pool's places for a connection that many requests share.
type berth struct {
	// turn is held by whoever looks at conn or dials anew; the others wait.
	turn chan struct{}
	conn *conn
}

// shared gives the connection of user i among the pool's, dialling it where
// there is none that works.
func (d *dialer) shared(ctx context.Context, e *endpoint, i int64, dial func() (*conn, error)) (*conn, error) {
	d.mu.Lock()
	if d.berths[e] == nil {
		for range d.pool {
			d.berths[e] = append(d.berths[e], &berth{turn: make(chan struct{}, 1)})
		}
	}
	b := d.berths[e][int(i)%d.pool]
	d.mu.Unlock()
	select {
	case b.turn <- struct{}{}:
	case <-d.cut:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.turn }()
	if b.conn != nil {
		if !b.conn.stream.(*duplex).gone() {
			return b.conn, nil
		}
		d.close(b.conn)
		b.conn = nil
	}
	c, err := dial()
	b.conn = c
	return c, err
}

// closeShared ends the shared connections, when nothing uses them any more.
// The caller holds d.mu.
func (d *dialer) closeShared() {
	for _, berths := range d.berths {
		for _, b := range berths {
			if b.conn != nil {
				delete(d.open, b.conn)
				b.conn.Close()
				b.conn = nil
			}
		}
	}
}

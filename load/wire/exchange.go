package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"strings"
	"time"
)

// connector provides connections: the dialer, or a user's event loop.
type connector interface {
	// acquire returns a pooled connection, or nil where the caller is to dial a
	// new one. It waits while all are in use. release frees the slot, with the
	// connection to keep or with nil.
	acquire(e *endpoint, deadline time.Time) (*conn, error)
	release(e *endpoint, c *conn)
	dial(ctx context.Context, e *endpoint, sessions tls.ClientSessionCache, deadline time.Time) (*conn, error)
	close(c *conn)
}

// exchange gets a connection, writes the request and reads the response.
func (c *Client) exchange(ctx context.Context, q *request, deadline time.Time, t *Timing) error {
	e := q.endpoint
	c.last = e
	if c.fiber != nil && !e.plain() {
		return c.exchangeBlocking(ctx, q, deadline, t)
	}
	var via connector = c.net.dialer
	if c.fiber != nil {
		via = c.pools
	}
	var k *conn
	var err error
	if c.conns != nil {
		k = c.takeOwn(via, q.slot, t.Sent)
	} else {
		if k, err = via.acquire(e, deadline); err != nil {
			return err
		}
		// The wait for a pooled connection is not the target's time.
		t.Sent = c.net.now()
	}
	k, err = c.sendRetrying(ctx, via, k, q, deadline, t)
	if k != nil && (err != nil || !c.resp.reusable || q.closes && k.http2 == nil) {
		via.close(k)
		k = nil
	}
	if c.conns != nil {
		c.conns[q.slot] = k
	} else {
		via.release(e, k)
	}
	return err
}

// exchangeBlocking is exchange on a goroutine, for an endpoint that an event loop cannot serve.
func (c *Client) exchangeBlocking(ctx context.Context, q *request, deadline time.Time, t *Timing) (err error) {
	f := c.fiber
	c.fiber = nil
	f.RunBlocking(func() { err = c.exchange(ctx, q, deadline, t) })
	c.fiber = f
	return err
}

// exchangeAgain is exchange for a further request of the same timing.
func (c *Client) exchangeAgain(ctx context.Context, q *request, deadline time.Time, t *Timing) error {
	sent, connect := t.Sent, t.Connect
	t.Connect = 0
	err := c.exchange(ctx, q, deadline, t)
	t.Sent, t.Connect = sent, connect+t.Connect
	return err
}

// takeOwn takes the user's own connection out of its slot, for a request that is sent now; nil: there is none.
//
// Where a user thinks for longer than the server keeps a connection, a new one is
// opened, as browsers do, so that no reset is counted.
func (c *Client) takeOwn(via connector, slot int, sent time.Time) *conn {
	for len(c.conns) <= slot { // of a server that a redirect led to
		c.conns = append(c.conns, nil)
	}
	k := c.conns[slot]
	c.conns[slot] = nil
	if k != nil && !k.staysOpen(sent) {
		via.close(k)
		return nil
	}
	return k
}

// sendRetrying sends over a kept-alive connection where there is one, else over a
// new one. A kept-alive connection that turns out closed is replaced once, for
// requests that may be repeated. The connection used last is returned.
func (c *Client) sendRetrying(ctx context.Context, via connector, k *conn, q *request, deadline time.Time, t *Timing) (*conn, error) {
	if k != nil {
		err := c.roundTrip(k, q, deadline, t)
		gone := err != nil && k.firstByte.IsZero() && !errors.Is(err, os.ErrDeadlineExceeded)
		if !gone || !q.repeatable {
			return k, err
		}
		via.close(k)
	}
	began := c.net.now()
	k, err := via.dial(ctx, q.endpoint, c.tlsSessions(), deadline)
	if err != nil {
		return nil, &dialError{q.endpoint.address, err}
	}
	t.Connect = c.net.now().Sub(began)
	return k, c.roundTrip(k, q, deadline, t)
}

func (c *Client) roundTrip(k *conn, q *request, deadline time.Time, t *Timing) error {
	if err := k.SetDeadline(deadline); err != nil {
		return err
	}
	before := k.received
	if s := k.http2; s != nil {
		n, first, err := s.roundTrip(c.out, strings.TrimSuffix(scheme(q.endpoint), "://"), q.Method, c.net.bodyLimit(q), &c.resp)
		t.SentBytes += int64(n)
		k.firstByte, t.First, t.Last = first, first, k.lastByte
		t.ReceivedBytes += k.received - before
		return err
	}
	n, err := k.Write(c.out)
	t.SentBytes += int64(n)
	// A server may reject a large body and close before it has read all of it; its
	// response can still be read.
	if e := k.readResponse(q.Method, c.net.bodyLimit(q), &c.resp); err == nil || e == nil {
		err = e
	}
	t.First, t.Last = k.firstByte, k.lastByte
	t.ReceivedBytes += k.received - before
	return err
}

package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"whittle/load/report"
)

// connector provides connections: the dialer, or a user's event loop.
type connector interface {
	// acquire returns a pooled connection, or nil where the caller is to dial a
	// new one. It waits while all are in use. release frees the slot, with the
	// connection to keep or with nil.
	acquire(e *endpoint, deadline time.Time) (*conn, error)
	release(e *endpoint, c *conn)
	dial(ctx context.Context, e *endpoint, deadline time.Time) (*conn, error)
	close(c *conn)
}

// exchange gets a connection, writes the request and reads the response.
func (w *worker) exchange(ctx context.Context, q *prepared, deadline time.Time, o *observation) (err error) {
	e := q.endpoint
	if f := w.fiber; f != nil && !e.plain() {
		w.fiber = nil
		f.runBlocking(func() { err = w.exchange(ctx, q, deadline, o) })
		w.fiber = f
		return err
	}
	if e.http2 {
		return w.exchangeHTTP2(ctx, q, deadline, o)
	}
	var via connector = w.run.dialer
	if w.fiber != nil {
		via = w.fiber.loop
	}
	var c *conn
	if w.conns != nil {
		for len(w.conns) <= q.slot { // a server that a redirect led to
			w.conns = append(w.conns, nil)
		}
		c = w.conns[q.slot]
		w.conns[q.slot] = nil
		// Where a user thinks for longer than the server keeps a connection, a new
		// one is opened, as browsers do, so that no reset is counted.
		if c != nil && w.run.now().Sub(c.idleSince) >= idleCheckAfter && c.closedByPeer() {
			via.close(c)
			c = nil
		}
	} else {
		if c, err = via.acquire(e, deadline); err != nil {
			return err
		}
		// The wait for a pooled connection is not the target's time.
		o.sent = w.run.now()
	}
	c, err = w.sendRetrying(ctx, via, c, q, deadline, o)
	if c != nil && (err != nil || !w.resp.reusable) {
		via.close(c)
		c = nil
	}
	if w.conns != nil {
		w.conns[q.slot] = c
	} else {
		via.release(e, c)
	}
	return err
}

// sendRetrying sends over a kept-alive connection where there is one, else over a
// new one. A kept-alive connection that turns out closed is replaced once, for
// requests that may be repeated. The connection used last is returned.
func (w *worker) sendRetrying(ctx context.Context, via connector, c *conn, q *prepared, deadline time.Time, o *observation) (*conn, error) {
	if c != nil {
		err := w.roundTrip(c, q, deadline, o)
		gone := err != nil && c.firstByte.IsZero() && !errors.Is(err, os.ErrDeadlineExceeded)
		if !gone || !q.repeatable {
			return c, err
		}
		via.close(c)
	}
	began := w.run.now()
	c, err := via.dial(ctx, q.endpoint, deadline)
	if err != nil {
		return nil, &dialError{err}
	}
	o.connect = w.run.now().Sub(began)
	return c, w.roundTrip(c, q, deadline, o)
}

func (w *worker) roundTrip(c *conn, q *prepared, deadline time.Time, o *observation) error {
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	before := c.received
	n, err := c.Write(w.out)
	o.sentBytes += int64(n)
	// A server may reject a large body and close before it has read all of it; its
	// response can still be read.
	if e := c.readResponse(q.Method, w.run.bodyLimit(q), &w.resp); err == nil || e == nil {
		err = e
	}
	o.first = c.firstByte
	o.receivedBytes += c.received - before
	c.idleSince = w.run.now()
	return err
}

// dialError is an error of opening the connection, before the request was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// failureOf maps an error to its kind in the report.
func failureOf(err error) string {
	var timeout net.Error
	_, dialling := errors.AsType[*dialError](err)
	_, redirecting := errors.AsType[*redirectError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unmade := errors.AsType[*contractError](err)
	switch {
	case unmade:
		return report.ErrorContract
	case untrusted:
		return report.ErrorCertificate
	case redirecting:
		return report.ErrorRedirect
	case errors.Is(err, errMalformed):
		return report.ErrorMalformed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return report.ErrorTimeout
	case dialling:
		return report.ErrorConnect
	case errors.Is(err, io.ErrNoProgress):
		return report.ErrorMalformed
	}
	return report.ErrorReset
}

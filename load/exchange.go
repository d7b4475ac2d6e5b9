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

// connector is where connections come from: the dialer, or a user's lane.
type connector interface {
	// borrow gives a pooled connection, nil where a new one is to be dialled,
	// and waits while all are in use. giveBack ends a borrowing, with the
	// connection or with nil.
	borrow(e *endpoint, deadline time.Time) (*conn, error)
	giveBack(e *endpoint, c *conn)
	dial(ctx context.Context, e *endpoint, deadline time.Time) (*conn, error)
	close(c *conn)
}

// exchange finds a connection, writes the request and reads the answer.
func (w *worker) exchange(ctx context.Context, q *prepared, deadline time.Time, o *observed) (err error) {
	e := q.endpoint
	if f := w.fiber; f != nil && !e.plain() {
		w.fiber = nil
		f.away(func() { err = w.exchange(ctx, q, deadline, o) })
		w.fiber = f
		return err
	}
	if e.http2 {
		return w.converse(ctx, q, deadline, o)
	}
	var via connector = w.run.dialer
	if w.fiber != nil {
		via = w.fiber.lane
	}
	var c *conn
	if w.own != nil {
		for len(w.own) <= q.slot { // a server that a redirect led to
			w.own = append(w.own, nil)
		}
		c = w.own[q.slot]
		w.own[q.slot] = nil
		// A user who thinks for longer than the server keeps a connection does not
		// meet a reset: a browser opens a new one.
		if c != nil && w.run.now().Sub(c.idle) >= stale && c.closedByPeer() {
			via.close(c)
			c = nil
		}
	} else {
		if c, err = via.borrow(e, deadline); err != nil {
			return err
		}
		// What waited for a connection was not the target's doing.
		o.sent = w.run.now()
	}
	c, err = w.over(ctx, via, c, q, deadline, o)
	if c != nil && (err != nil || !w.ans.reusable) {
		via.close(c)
		c = nil
	}
	if w.own != nil {
		w.own[q.slot] = c
	} else {
		via.giveBack(e, c)
	}
	return err
}

// over sends over a kept-alive connection where there is one, else over a new
// one. It returns the connection that was used last, to be kept or closed.
func (w *worker) over(ctx context.Context, via connector, c *conn, q *prepared, deadline time.Time, o *observed) (*conn, error) {
	if c != nil {
		err := w.through(c, q, deadline, o)
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
	return c, w.through(c, q, deadline, o)
}

func (w *worker) through(c *conn, q *prepared, deadline time.Time, o *observed) error {
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	before := c.received
	n, err := c.Write(w.out)
	o.up += int64(n)
	// A server may refuse and close before it has read all of a large body:
	// its answer is then still there to be read.
	if e := c.read(q.Method, w.run.keep(q), &w.ans); err == nil || e == nil {
		err = e
	}
	o.first = c.firstByte
	o.down += c.received - before
	c.idle = w.run.now()
	return err
}

// dialError marks an error as coming from before the request was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// failureOf is the one place that says which kind an error is.
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

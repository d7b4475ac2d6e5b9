package fastpath

import "io"

// body is the request's body.
type body struct {
	c         *conn
	remaining int   // bytes not read yet
	err       error // the error that ended reading; nil: none
}

// Read returns what is in the connection's buffer first and then reads from the
// connection. When the connection ends before the body does, it returns
// io.ErrUnexpectedEOF.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.remaining == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	p = p[:min(len(p), b.remaining)]
	c := b.c
	var n int
	if c.from < c.to {
		n = copy(p, c.buf[c.from:c.to])
		if c.from += n; c.from == c.to {
			c.release()
		}
	} else {
		c.readUntil(c.begun, c.s.http.ReadTimeout, 0)
		n, b.err = c.rwc.Read(p)
	}
	b.remaining -= n
	switch {
	case b.remaining == 0:
		return n, io.EOF
	case b.err == io.EOF: //nolint:errorlint // io.Reader's own word for it is not wrapped
		b.err = io.ErrUnexpectedEOF
	}
	return n, b.err
}

// Close does nothing: what the handler left is read by discard.
func (b *body) Close() error { return nil }

// discard reads the rest of the body, so that the next request can be found
// behind it. It returns false when the rest does not arrive.
func (b *body) discard() bool {
	c := b.c
	if n := min(b.remaining, c.to-c.from); n > 0 {
		c.from += n
		b.remaining -= n
	}
	for b.remaining > 0 {
		if _, err := b.Read(c.attach()); err != nil && b.remaining > 0 {
			return false
		}
	}
	return true
}

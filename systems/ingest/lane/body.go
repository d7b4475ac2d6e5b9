package lane

import "io"

// body is what the head said would follow.
type body struct {
	c    *conn
	left int   // bytes that were not read yet
	err  error // what reading ended with; nil: it has not
}

// Read gives what is in the connection's buffer first, and then reads past it.
// Where the connection ends before the body, it fails with io.ErrUnexpectedEOF.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.left == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	p = p[:min(len(p), b.left)]
	c := b.c
	var n int
	if c.from < c.to {
		n = copy(p, c.buf[c.from:c.to])
		c.from += n
	} else {
		c.readUntil(c.begun, c.s.http.ReadTimeout, 0)
		n, b.err = c.rwc.Read(p)
	}
	b.left -= n
	switch {
	case b.left == 0:
		return n, io.EOF
	case b.err == io.EOF: //nolint:errorlint // io.Reader's own word for it is not wrapped
		b.err = io.ErrUnexpectedEOF
	}
	return n, b.err
}

// Close does nothing: what the handler left is read by discard.
func (b *body) Close() error { return nil }

// discard reads what the handler did not want, so that the next request can be
// found behind it. It is false where it does not come.
func (b *body) discard() bool {
	c := b.c
	if n := min(b.left, c.to-c.from); n > 0 {
		c.from += n
		b.left -= n
	}
	for b.left > 0 {
		if _, err := b.Read(c.buf); err != nil && b.left > 0 {
			return false
		}
	}
	return true
}

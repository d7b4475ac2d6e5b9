package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"whittle/internal/httpfield"
)

// maxChunkLine bounds a chunk's size line with its extensions.
const maxChunkLine = 4 << 10

// large are for the parts of a body that are longer than a connection's buffer.
var large = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// body is a response's body on a conn. It implements source; pieces are slices
// of the connection's own buffer wherever that is long enough.
type body struct {
	c    *conn
	kind bodyKind
	left int64 // of the body, or of the present chunk
	done bool
	err  error
	big  *[64 << 10]byte
}

type bodyKind uint8

const (
	bodyLength  bodyKind = iota // left says how much is to come
	bodyToClose                 // until the upstream closes
	chunkSize                   // a size line comes next
	chunkBytes                  // left bytes of a chunk come next
	chunkEnd                    // the line end after a chunk comes next
	chunkLast                   // the trailer comes next
)

// begin settles how the body ends (RFC 9112, section 6.3). headOnly is for the
// response to HEAD.
func (b *body) begin(h *responseHead, headOnly bool) {
	*b = body{c: b.c}
	switch {
	case headOnly, h.status == http.StatusNoContent, h.status == http.StatusNotModified, h.length == 0:
		b.done = true
	case h.chunked:
		b.kind = chunkSize
	case h.length > 0:
		b.kind, b.left = bodyLength, h.length
	default:
		b.kind, h.last = bodyToClose, true
	}
}

func (b *body) ready() bool {
	ok, err := b.advance()
	return ok || err != nil
}

func (b *body) next() ([]byte, error) {
	for {
		ok, err := b.advance()
		if err != nil {
			b.err = err
			return nil, err
		}
		if b.done {
			b.release()
			return nil, io.EOF
		}
		if ok {
			break
		}
		if p, err := b.wait(); p != nil || err != nil {
			return p, err
		}
	}
	c := b.c
	n := c.w - c.r
	if b.kind != bodyToClose && int64(n) > b.left {
		n = int(b.left)
	}
	p := c.buf[c.r : c.r+n]
	c.r += n
	b.used(n)
	if b.done {
		b.release()
		return p, io.EOF
	}
	return p, nil
}

// wait reads more. Long stretches go past the connection's buffer: then the
// piece itself is returned.
func (b *body) wait() ([]byte, error) {
	c := b.c
	if err := c.unbound(); err != nil {
		return nil, err
	}
	if plain := b.kind == bodyLength || b.kind == chunkBytes; plain && b.left > int64(len(c.buf)) && c.r == c.w {
		if b.big == nil {
			b.big = large.Get().(*[64 << 10]byte)
		}
		n, err := c.read(b.big[:min(int64(len(b.big)), b.left)])
		if err != nil {
			return nil, cutShort(err)
		}
		b.used(n)
		return b.big[:n], nil
	}
	err := c.fill(maxResponseHead)
	if errors.Is(err, io.EOF) && b.kind == bodyToClose {
		b.done = true
		return nil, nil
	}
	return nil, cutShort(err)
}

func (b *body) used(n int) {
	if b.kind == bodyToClose {
		return
	}
	b.left -= int64(n)
	if b.left == 0 {
		if b.kind == chunkBytes {
			b.kind = chunkEnd
		} else {
			b.done = true
		}
	}
}

func (b *body) release() {
	if b.big != nil {
		large.Put(b.big)
		b.big = nil
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errTruncated
	}
	return err
}

// advance goes through the framing that is in the buffer already. It reports
// whether next can return without reading.
func (b *body) advance() (ok bool, err error) {
	for !b.done {
		c := b.c
		rest := c.buf[c.r:c.w]
		switch b.kind {
		case bodyLength, bodyToClose, chunkBytes:
			return len(rest) > 0, nil
		case chunkEnd:
			if len(rest) < 2 {
				return false, nil
			}
			if rest[0] != '\r' || rest[1] != '\n' {
				return false, ErrMalformed
			}
			c.r += 2
			b.kind = chunkSize
		case chunkSize:
			n, size, err := parseChunkSize(rest)
			if n == 0 || err != nil {
				return false, err
			}
			c.r += n
			b.left, b.kind = size, chunkBytes
			if size == 0 {
				b.kind = chunkLast
			}
		case chunkLast:
			n, err := b.parseTrailer(rest)
			if n == 0 || err != nil {
				return false, err
			}
			c.r += n
			b.done = true
		}
	}
	return true, nil
}

// parseChunkSize reads a chunk's size line; n is 0 while it is incomplete.
// Extensions are passed over. The line must end in CRLF: to take a bare LF here
// is to disagree with those who do not.
func parseChunkSize(b []byte) (n int, size int64, err error) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if len(b) > maxChunkLine {
			return 0, 0, ErrMalformed
		}
		return 0, 0, nil
	}
	if i == 0 || b[i-1] != '\r' || i > maxChunkLine {
		return 0, 0, ErrMalformed
	}
	size, ok := httpfield.ParseChunkSize(b[:i-1])
	if !ok {
		return 0, 0, ErrMalformed
	}
	return i + 1, size, nil
}

// parseTrailer reads the lines after the last chunk; n is 0 while they are
// incomplete.
func (b *body) parseTrailer(block []byte) (n int, err error) {
	for {
		line, rest, ok := cutLine(block[n:])
		if !ok {
			return 0, nil
		}
		if len(block)-len(rest)-n != len(line)+2 {
			return 0, ErrMalformed // a bare LF, as in parseChunkSize
		}
		n = len(block) - len(rest)
		if len(line) == 0 {
			break
		}
	}
	if n <= 2 {
		return n, nil // the empty line alone: no trailer
	}
	var h responseHead
	if err := h.scan(block[:n], 0); err != nil {
		return 0, err
	}
	t := http.Header{}
	for _, s := range h.spans {
		if name := string(block[s.name:s.nameEnd]); trailing(name) {
			t[name] = append(t[name], string(block[s.value:s.valueEnd]))
		}
	}
	b.c.trailer = t
	return n, nil
}

package upstream

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"whittle/internal/http1"
)

// large are for the parts of a body that are longer than a connection's buffer.
var large = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// body is a response's body on a conn. It implements source; pieces are slices
// of the connection's own buffer wherever that is long enough.
type body struct {
	c      *conn
	framed http1.Body
	// piece has been found in the connection's buffer, and not been returned.
	piece []byte
	// parts is how many stretches of content the piece is joined of; gone, those of
	// the last one that was returned.
	parts, gone int
	// fault is what is wrong behind the piece.
	fault error
	// done says that all of the body has been returned.
	done bool
	kind http1.FramingKind
	err  error
	big  *[64 << 10]byte
}

// begin settles how the body ends. headOnly is for the response to HEAD.
func (b *body) begin(h *responseHead, headOnly bool) {
	*b = body{c: b.c, framed: b.framed}
	b.framed.Limits, b.framed.Tolerance = responseLimits, tolerated
	method := http.MethodGet
	if headOnly {
		method = http.MethodHead
	}
	f := h.parser.Framing(method)
	b.kind = f.Kind
	if f.Kind == http1.UntilClose {
		h.last = true
	}
	b.framed.Begin(f)
	b.done = b.framed.Done()
}

func (b *body) ready() bool {
	err := b.advance()
	return err != nil || len(b.piece) > 0 || b.framed.Done()
}

func (b *body) next() ([]byte, error) {
	for {
		if err := b.advance(); err != nil {
			b.err = err
			return nil, err
		}
		if len(b.piece) > 0 || b.framed.Done() {
			break
		}
		if p, err := b.wait(); p != nil || err != nil {
			b.gone = 1
			return p, err
		}
	}
	p := b.piece
	b.piece, b.done = nil, b.framed.Done()
	b.parts, b.gone = 0, b.parts
	if b.done {
		b.release()
		return p, io.EOF
	}
	return p, nil
}

func (b *body) joined() int { return b.gone }

// advance finds the next piece in what has been read. Chunks that have arrived
// together are one piece: what an upstream flushes byte by byte costs no write each.
func (b *body) advance() error {
	c := b.c
	for c.r < c.w && !b.framed.Done() && b.fault == nil {
		piece, n, err := b.framed.Next(c.buf[c.r:c.w])
		if err != nil {
			b.fault = refusal(err)
			break
		}
		if n == 0 {
			break // a part of the trailer
		}
		c.r += n
		b.join(piece)
		if b.framed.Done() {
			b.takeTrailer()
		}
	}
	if len(b.piece) > 0 {
		return nil // what is wrong behind it comes after it
	}
	return b.fault
}

// join moves a stretch of the connection's buffer to the end of the piece, over the
// framing that was between them.
func (b *body) join(stretch []byte) {
	if len(stretch) > 0 {
		b.parts++
	}
	if len(b.piece) == 0 {
		b.piece = stretch
		return
	}
	b.piece = append(b.piece, stretch...)
}

// takeTrailer keeps the fields after the body that may go on.
func (b *body) takeTrailer() {
	t := b.framed.Trailer()
	if t.Len() == 0 {
		return
	}
	fields := http.Header{}
	for i := range t.Len() {
		canonical(t.Field(i).Name)
	}
	text := string(t.Raw())
	for i := range t.Len() {
		if name, value := t.In(text, i); trailing(name) {
			fields[name] = append(fields[name], value)
		}
	}
	b.c.trailer = fields
}

// wait reads more. Long stretches go past the connection's buffer: then the
// piece itself is returned.
func (b *body) wait() ([]byte, error) {
	c := b.c
	if err := c.await(); err != nil {
		return nil, err
	}
	if rest := b.framed.Rest(); rest > int64(len(c.buf)) && c.r == c.w {
		if b.big == nil {
			b.big = large.Get().(*[64 << 10]byte)
		}
		n, err := c.read(b.big[:min(int64(len(b.big)), rest)])
		if err != nil {
			return nil, cutShort(err)
		}
		p, _, err := b.framed.Next(b.big[:n])
		return p, err
	}
	err := c.fill(maxResponseHead)
	if errors.Is(err, io.EOF) && b.framed.End() == nil {
		return nil, nil // the body ends with the connection
	}
	return nil, cutShort(err)
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

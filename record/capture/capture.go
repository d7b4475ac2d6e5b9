// Package capture encodes the exchange log: one exchange as bytes and back, and
// many of them in one compressed, checksummed block. It opens no file;
// record/journal does.
package capture

import (
	"crypto/sha256"
	"hash"
	"io"
	"maps"
	"slices"
	"time"

	"whittle"
)

// Bounds of what is written, and so of what is accepted when it is read.
const (
	// MaxBody bounds each body that is kept, in bytes.
	MaxBody = 16 << 20
	// MaxHeaders bounds the values of one header, and MaxText the bytes of a
	// name, a value, a target.
	MaxHeaders = 256
	MaxText    = 64 << 10
	// MaxHeaderBytes bounds one header's names and values together.
	MaxHeaderBytes = 1 << 20
	// MaxBlock bounds a block before compression, in bytes. Any entry within
	// the bounds above fits into one.
	MaxBlock = 64 << 20
)

// Entry is one exchange as the log keeps it: the request, and the response of
// whoever served it. It contains no secrets: redaction comes before an entry is
// made.
type Entry struct {
	// Route is the name of the matching route; empty: none matched, and the
	// request was only proxied.
	Route string
	// Conn identifies the client's connection within one log; the exchanges of
	// one connection are in the order of its requests. 0: not known.
	Conn uint64
	// At is when the request arrived, to the nanosecond, from 1970 to 2261.
	At time.Time
	// Served says whose response the user got.
	Served   whittle.Side
	Request  whittle.Request
	Response whittle.Response
}

// Clone returns a deep copy. Whoever keeps an entry beyond the reader's next
// call needs one.
func (e *Entry) Clone() *Entry {
	c := *e
	c.Request.Header = cloneHeader(e.Request.Header)
	c.Request.Body = slices.Clone(e.Request.Body)
	c.Response.Header = cloneHeader(e.Response.Header)
	c.Response.Trailer = cloneHeader(e.Response.Trailer)
	c.Response.Body = slices.Clone(e.Response.Body)
	return &c
}

func cloneHeader(h whittle.Header) whittle.Header {
	c := maps.Clone(h)
	for name, values := range c {
		c[name] = slices.Clone(values)
	}
	return c
}

// RequestKey identifies a request: two requests with the same key should get
// the same response.
type RequestKey [16]byte

// KeyOf returns a request's key: method, target, body, and the headers that
// identify the caller and negotiate the content.
func KeyOf(q *whittle.Request) RequestKey {
	h := sha256.New()
	part(h, q.Method)
	part(h, q.Target)
	for _, name := range [...]string{"Authorization", "Cookie", "Accept", "Accept-Language", "Content-Type"} {
		part(h, q.Header.Get(name))
	}
	h.Write(q.Body)
	var k RequestKey
	copy(k[:], h.Sum(nil))
	return k
}

func part(h hash.Hash, s string) {
	_, _ = io.WriteString(h, s) // a hash does not fail
	h.Write([]byte{0})
}

// Package capture is the exchange log's record: how one exchange is written
// as bytes and read back, and how many records lie together in one block,
// compressed and checksummed. It opens no file; record/journal does.
package capture

import (
	"maps"
	"slices"
	"time"

	"whittle"
)

// Bounds of what is written and, so, of what is believed when it is read.
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
	// the bounds above has room in one.
	MaxBlock = 64 << 20
)

// Entry is one exchange as the log keeps it: what the user asked, and what
// whoever served responded. Nothing in it is secret any more: redaction comes
// before an entry is made.
type Entry struct {
	// Route is the name of the route that matched; empty: none, it only passed
	// through.
	Route string
	// Conn tells the client's connections apart, within one log; exchanges of
	// one connection are in the order of its requests. 0: not known.
	Conn uint64
	// At is when the request arrived, to the nanosecond, from 1970 to 2261.
	At time.Time
	// Served says whose response it is.
	Served   whittle.Side
	Request  whittle.Request
	Response whittle.Answer
}

// Clone gives a copy that shares nothing with e that anyone writes to. Who
// keeps an entry beyond the reader's next call needs one.
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

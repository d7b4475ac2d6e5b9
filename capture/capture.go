// Package capture is the exchange log's record: how one exchange is written
// as bytes and read back, and how many records lie together in one block,
// compressed and checksummed. It opens no file; capture/journal does.
package capture

import (
	"time"

	"whittle"
)

// Bounds of what is written and, so, of what is believed when it is read.
const (
	// MaxBody bounds each body that is kept, in bytes.
	MaxBody = 16 << 20
	// MaxHeaders bounds the fields of one header, and MaxText the bytes of a
	// name, a value, a target.
	MaxHeaders = 256
	MaxText    = 64 << 10
	// MaxBlock bounds a block before compression, in bytes.
	MaxBlock = 64 << 20
)

// Entry is one exchange as the log keeps it: what the user asked, and what
// whoever served answered. Nothing in it is secret any more: redaction comes
// before an entry is made.
type Entry struct {
	// Route is the name of the route that matched; empty: none, it only passed
	// through.
	Route string
	// Conn tells the client's connections apart, within one log; exchanges of
	// one connection are in the order of its requests. 0: not known.
	Conn uint64
	// At is when the request arrived.
	At time.Time
	// Served says whose answer it is.
	Served  whittle.Side
	Request whittle.Request
	Answer  whittle.Answer
}

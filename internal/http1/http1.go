// Package http1 reads and writes HTTP/1.1 messages (RFC 9112) in bytes that the
// caller owns: the heads of requests and responses, the framing of bodies, and
// chunked bodies with their trailers. It does no I/O and starts no goroutine.
//
// Reading is strict. A message that two servers could read differently is
// refused, because request smuggling relies on such messages. What is accepted
// is read as net/http reads it; the fuzz tests compare the two. A refusal is an
// *Error, which says what status a server responds with. Readers of responses
// may accept a few repairable faults; see Tolerance.
//
// Reading copies nothing. RequestHead and ResponseHead are used for one message
// after the other and then allocate nothing. A head is parsed from the beginning
// of a buffer into which more is read until the head is complete:
//
//	n, err := head.Parse(buf[r:w]) // n is 0 while the head is incomplete
//
// A body is followed through whatever part of it has arrived:
//
//	content, n, err := body.Next(buf[r:w]) // until body.Done()
package http1

import "net/http"

// Limits bound what is read. The zero value of each means its default.
type Limits struct {
	// Head bounds the bytes of a head, from the first line to the empty line, and
	// those of a trailer section. Zero: 64 KiB. Beyond it: 431.
	Head int
	// Target bounds a request's target in bytes. Zero: as long as the head allows.
	// Beyond it: 414.
	Target int
	// Fields bounds the number of header lines, and of trailer lines. Zero: 1,000.
	// Beyond it: 431.
	Fields int
	// Body bounds a body's content in bytes, whether its length is announced or
	// not. Zero: 10^18 - 1. Beyond it: 413.
	Body int64
}

const (
	defaultHead   = 64 << 10
	defaultFields = 1000
	maxLength     = 1e18 - 1
	// maxSizeLine bounds a chunk's size line with its extensions and its line end.
	maxSizeLine = 4 << 10
	// maxExcess bounds what chunked coding may add in size lines, beyond 16 bytes
	// for each chunk and twice its content. net/http has the same bound.
	maxExcess = 16 << 10
)

func (l *Limits) head() int {
	if l.Head > 0 {
		return l.Head
	}
	return defaultHead
}

func (l *Limits) fields() int {
	if l.Fields > 0 {
		return l.Fields
	}
	return defaultFields
}

func (l *Limits) body() int64 {
	if l.Body > 0 {
		return l.Body
	}
	return maxLength
}

// Tolerance lists faults of responses that RFC 9112 allows a client or a proxy
// to repair. The zero value refuses all of them. Requests have no tolerance.
type Tolerance uint8

const (
	// BareLF accepts lines of a head that end in LF alone (section 2.2).
	BareLF Tolerance = 1 << iota
	// Folding accepts a value that goes on in the next line (section 5.2). Its line
	// end is overwritten with spaces in the caller's bytes.
	Folding
	// LengthAndChunks accepts a length as well as chunks. The chunks hold, the length
	// is ignored, and the connection ends after the response (section 6.3).
	LengthAndChunks
	// PaddedSize accepts blanks between a chunk's size and its line end.
	PaddedSize
	// FramingInTrailer accepts Content-Length, Transfer-Encoding and Host behind
	// the last chunk. They mean nothing there, and must not be forwarded.
	FramingInTrailer
)

// Error says why a message is refused. All errors of this package are of this
// type, except for io.ErrUnexpectedEOF of Body.End.
type Error struct {
	// Status is what a server responds with: 400, 413, 414, 431, 501 or 505. In a
	// response that was read from an upstream, 413 and 431 mean that it is larger
	// than the limits allow, and all others that it is malformed.
	Status int
	// Reason is for logs. It holds nothing of the message.
	Reason string
}

func (e *Error) Error() string { return "HTTP/1.1: " + e.Reason }

// TooLarge reports whether a limit was exceeded, rather than the syntax violated.
func (e *Error) TooLarge() bool {
	switch e.Status {
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return true
	}
	return false
}

func bad(reason string) *Error { return &Error{http.StatusBadRequest, reason} }

var (
	errLineEnd      = bad("a line does not end in CR LF")
	errByte         = bad("a control character in a line")
	errRequestLine  = bad("malformed request line")
	errStatusLine   = bad("malformed status line")
	errTarget       = bad("malformed request target")
	errName         = bad("malformed field name")
	errFolded       = bad("a folded field value")
	errNoHost       = bad("no Host field")
	errHosts        = bad("more than one Host field")
	errHost         = bad("malformed Host field")
	errAuthority    = bad("the Host field differs from the target's authority")
	errLength       = bad("malformed Content-Length")
	errLengths      = bad("more than one Content-Length")
	errCoding       = bad("malformed Transfer-Encoding")
	errBoth         = bad("both Content-Length and Transfer-Encoding")
	errOldChunks    = bad("Transfer-Encoding in HTTP/1.0")
	errChunkSize    = bad("malformed chunk size")
	errChunkEnd     = bad("a chunk is longer than its size")
	errChunkLine    = bad("a chunk's size line is too long")
	errExcess       = bad("chunks with more extensions than content")
	errTrailerField = bad("a framing field in the trailer")

	errTooMuch     = &Error{http.StatusRequestEntityTooLarge, "the body is larger than allowed"}
	errLongTarget  = &Error{http.StatusRequestURITooLong, "the target is longer than allowed"}
	errLongHead    = &Error{http.StatusRequestHeaderFieldsTooLarge, "the head is larger than allowed"}
	errManyFields  = &Error{http.StatusRequestHeaderFieldsTooLarge, "more fields than allowed"}
	errOtherCoding = &Error{http.StatusNotImplemented, "a transfer coding other than chunked"}
	errVersion     = &Error{http.StatusHTTPVersionNotSupported, "an HTTP version other than 1.0 and 1.1"}
)

// Framing says where a message's body ends (RFC 9112, section 6).
type Framing struct {
	Kind FramingKind
	// Length is the body's length in bytes where Kind is Length, else 0.
	Length int64
}

// FramingKind is the way in which a body's end is found.
type FramingKind uint8

const (
	// NoBody follows the head.
	NoBody FramingKind = iota
	// Length is known from Content-Length; it may be 0.
	Length
	// Chunked coding marks the end.
	Chunked
	// UntilClose is for responses only: the body ends with the connection.
	UntilClose
)

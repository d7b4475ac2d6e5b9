// Package deadletter is what is kept of a rejected event or of a body that could
// not be read: its bytes and why it was rejected, so that it can be mended and
// sent again. A letter is a record of a stream.
package deadletter

import (
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Letter is a rejected event or body.
type Letter struct {
	// Time is when it came, Source who sent it, by the name of the write key.
	Time   time.Time
	Source string
	// Reason says why it was rejected, in the words of the response.
	Reason string
	// Path is the endpoint that takes Body when it is sent again.
	Path string
	// ContentType and ContentEncoding are those of Body.
	ContentType, ContentEncoding string
	// Index is the number of the event in its batch, from 0 on, and Offset the
	// byte of the batch's body at which it is wrong. Whole: of a body as a
	// whole, Index says nothing.
	Index, Offset int
	Whole         bool
	// ID is the event's messageId, RequestID the request's. Empty: not known.
	ID, RequestID string
	// Address is the client's.
	Address string
	// Body is what can be sent to Path: the body as it came, or of a batch's
	// event a batch with this event alone.
	Body []byte
}

// The headers of a letter's record.
const (
	headerReason    = "dead-reason"
	headerSource    = "dead-source"
	headerPath      = "dead-path"
	headerType      = "content-type"
	headerEncoding  = "content-encoding"
	headerIndex     = "dead-index"
	headerOffset    = "dead-offset"
	headerRequestID = "x-request-id"
	headerAddress   = "client-address"
	// headerName holds the name of a letter that is not at its first place any
	// more.
	headerName = "dead-name"
)

// Bounds of a letter's texts: what is longer is cut.
const (
	maxText   = 1 << 10
	maxReason = 4 << 10
	// Overhead is how much longer a letter's record may be than its body.
	Overhead = 8*maxText + maxReason + stream.MaxID
)

// Record is the letter as it is kept.
func (l *Letter) Record() stream.Record {
	r := stream.Record{Time: l.Time, Value: l.Body}
	if len(l.ID) <= stream.MaxID {
		r.ID = l.ID
	}
	put := func(name, value string, limit int) {
		if value != "" {
			r.Header = append(r.Header, stream.Header{Name: name, Value: value[:min(len(value), limit)]})
		}
	}
	put(headerPath, l.Path, maxText)
	put(headerReason, l.Reason, maxReason)
	put(headerSource, l.Source, maxText)
	put(headerType, l.ContentType, maxText)
	put(headerEncoding, l.ContentEncoding, maxText)
	if !l.Whole {
		put(headerIndex, strconv.Itoa(l.Index), maxText)
	}
	put(headerOffset, strconv.Itoa(l.Offset), maxText)
	put(headerRequestID, l.RequestID, maxText)
	put(headerAddress, l.Address, maxText)
	r.Seal()
	return r
}

// Read is the inverse of Record. Its error is Invalid where r is no letter, or
// is damaged. The letter shares its memory with r.
func Read(r *stream.Record) (Letter, error) {
	if !r.Intact() {
		return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: the checksum does not match")
	}
	l := Letter{Time: r.Time, ID: r.ID, Body: r.Value, Whole: true}
	for _, h := range r.Header {
		switch h.Name {
		case headerPath:
			l.Path = h.Value
		case headerReason:
			l.Reason = h.Value
		case headerSource:
			l.Source = h.Value
		case headerType:
			l.ContentType = h.Value
		case headerEncoding:
			l.ContentEncoding = h.Value
		case headerRequestID:
			l.RequestID = h.Value
		case headerAddress:
			l.Address = h.Value
		case headerIndex, headerOffset:
			n, err := strconv.Atoi(h.Value)
			if err != nil {
				return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: %s is %q", h.Name, h.Value)
			}
			if h.Name == headerIndex {
				l.Index, l.Whole = n, false
			} else {
				l.Offset = n
			}
		}
	}
	if !strings.HasPrefix(l.Path, "/") {
		return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: it names no endpoint")
	}
	return l, nil
}

// Number is the name of the letter in a record of a log: the offset of its first
// place.
func Number(e *stream.Entry) (uint64, error) {
	name := e.Position.Offset
	for _, h := range e.Header {
		if h.Name == headerName {
			name = h.Value
		}
	}
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "read dead letter: its name is %q", name)
	}
	return n, nil
}

// Named is the record of a letter with the name in it, so that it keeps the name at
// another place.
func Named(r *stream.Record, number uint64) stream.Record {
	for _, h := range r.Header {
		if h.Name == headerName {
			return *r
		}
	}
	again := *r
	again.Header = append(again.Header[:len(again.Header):len(again.Header)], stream.Header{Name: headerName, Value: strconv.FormatUint(number, 10)})
	return again
}

// SourceOf is who sent the letter in a record.
func SourceOf(r *stream.Record) string {
	for _, h := range r.Header {
		if h.Name == headerSource {
			return h.Value
		}
	}
	return ""
}

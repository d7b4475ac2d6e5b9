// Package deadletter is what is kept of a rejected event or of a body that could
// not be read: its bytes and why it was rejected, so that it can be mended and
// sent again. A letter is a record of a stream.
package deadletter

import (
	"errors"
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
)

// Bounds of a letter's texts: what is longer is cut.
const (
	maxText   = 1 << 10
	maxReason = 4 << 10
	// Overhead is how much longer a letter's record may be than its body.
	Overhead = 8*maxText + maxReason + stream.MaxID
)

// text is a part of a letter as a header has it.
type text struct {
	header string
	value  *string
	limit  int
}

func (l *Letter) texts() [7]text {
	return [...]text{
		{headerPath, &l.Path, maxText},
		{headerReason, &l.Reason, maxReason},
		{headerSource, &l.Source, maxText},
		{headerType, &l.ContentType, maxText},
		{headerEncoding, &l.ContentEncoding, maxText},
		{headerRequestID, &l.RequestID, maxText},
		{headerAddress, &l.Address, maxText},
	}
}

// Record is the letter as it is kept.
func (l *Letter) Record() stream.Record {
	r := stream.Record{Time: l.Time, Value: l.Body}
	if len(l.ID) <= stream.MaxID {
		r.ID = l.ID
	}
	for _, t := range l.texts() {
		if v := *t.value; v != "" {
			r.Header = append(r.Header, stream.Header{Name: t.header, Value: v[:min(len(v), t.limit)]})
		}
	}
	if !l.Whole {
		r.Header = append(r.Header, stream.Header{Name: headerIndex, Value: strconv.Itoa(l.Index)})
	}
	r.Header = append(r.Header, stream.Header{Name: headerOffset, Value: strconv.Itoa(l.Offset)})
	r.Seal()
	return r
}

// Read is the inverse of Record. Its error is Invalid where r is no letter, or
// is damaged. The letter shares its memory with r.
func Read(r *stream.Record) (Letter, error) {
	if !r.Intact() {
		return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: the checksum does not match")
	}
	l := Letter{Time: r.Time, ID: r.ID, Body: r.Value, Whole: r.Get(headerIndex) == ""}
	for _, t := range l.texts() {
		*t.value = r.Get(t.header)
	}
	var err, err2 error
	if !l.Whole {
		l.Index, err = strconv.Atoi(r.Get(headerIndex))
	}
	if offset := r.Get(headerOffset); offset != "" {
		l.Offset, err2 = strconv.Atoi(offset)
	}
	if err := errors.Join(err, err2); err != nil {
		return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: its place in the batch: %w", err)
	}
	if !strings.HasPrefix(l.Path, "/") {
		return Letter{}, whittle.Errorf(whittle.Invalid, "read dead letter: it names no endpoint")
	}
	return l, nil
}

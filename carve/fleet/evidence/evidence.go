// Package evidence encodes whole exchanges, with the responses of both sides, for the
// stream from which a fleet's leader judges. It publishes nothing.
package evidence

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"whittle"
	"whittle/record/capture"
)

// Message is an exchange on its way to the leader.
type Message struct {
	// Gateway and Run name whose ledger has the request, and Number it among those
	// that were sent. An exchange that comes twice has the same.
	Gateway string
	Run     uint64
	Number  uint64
	// Digest is that of the route's config under which both sides were asked.
	Digest   string
	Exchange *whittle.Exchange
}

// Redactor takes secrets out, and replaces what it changes. *redact.Redactor is one.
type Redactor interface {
	Request(q *whittle.Request)
	Response(a *whittle.Response)
}

// A message as bytes: a head, and the exchange as one block of the exchange log's
// (record/capture) with two or three entries. The first has the request and the
// monolith's response, the second the candidate's, the third the repeat.
//
//	version      1
//	gateway      length and bytes, as the digest
//	digest
//	run number user
//	chance       8 bytes, of FirstChance
//	flags        1 the candidate served, 2 it failed and the monolith responded instead
//
// Numbers are varints. A reader takes what is not above its own version.
const version = 1

const (
	servedByCandidate = 1 << iota
	fellBack
	knownFlags = 1<<iota - 1
)

const (
	// MaxMessage bounds a message, in bytes: what NATS takes by default.
	MaxMessage = 1 << 20
	// maxUnpacked bounds the bodies of a message together, so that one message does
	// not take a leader's memory.
	maxUnpacked = 8 << 20
	// maxName bounds a gateway's name and a digest.
	maxName = 256
)

// errMessage is the error of bytes that are no message.
var errMessage = errors.New("not an exchange of a fleet, or one of a later version")

// Encoder writes messages. The zero value is ready; it is for one goroutine.
type Encoder struct{ block capture.Block }

// Append writes m behind b, redacted: nothing leaves the process that by has not seen.
// Nil: as it is, which is for tests. On an error, which is ResourceExhausted for an
// exchange that is too large, b comes back as it was.
func (e *Encoder) Append(b []byte, m *Message, by Redactor) ([]byte, error) {
	x := *m.Exchange
	if len(m.Gateway) > maxName || len(m.Digest) > maxName {
		return b, whittle.Errorf(whittle.Invalid, "a gateway's name or a digest has more than %d bytes", maxName)
	}
	if unpacked(&x) > maxUnpacked {
		return b, tooLarge()
	}
	if by != nil {
		clean(&x, by)
	}
	defer e.block.Drop()
	entries := []capture.Entry{
		{Route: x.Route, Conn: x.Conn, At: x.At, Served: x.Served, Request: x.Request, Response: x.Monolith},
		{At: x.At, Response: x.Candidate},
	}
	if x.Repeat != nil {
		entries = append(entries, capture.Entry{At: x.At, Response: *x.Repeat})
	}
	for i := range entries {
		if err := e.block.Add(&entries[i]); err != nil {
			return b, err
		}
	}
	w := append(b, version)
	for _, text := range []string{m.Gateway, m.Digest} {
		w = append(binary.AppendUvarint(w, uint64(len(text))), text...)
	}
	for _, n := range []uint64{m.Run, m.Number, x.User} {
		w = binary.AppendUvarint(w, n)
	}
	w = binary.LittleEndian.AppendUint64(w, math.Float64bits(x.FirstChance))
	var flags uint64
	if x.Served == whittle.Candidate {
		flags |= servedByCandidate
	}
	if x.FellBack {
		flags |= fellBack
	}
	w = binary.AppendUvarint(w, flags)
	if w = e.block.Seal(w, 0); len(w)-len(b) > MaxMessage {
		return b, tooLarge()
	}
	return w, nil
}

func tooLarge() error {
	return whittle.Errorf(whittle.ResourceExhausted, "the exchange is too large for a fleet's stream")
}

func unpacked(x *whittle.Exchange) int {
	n := len(x.Request.Body) + len(x.Monolith.Body) + len(x.Candidate.Body)
	if x.Repeat != nil {
		n += len(x.Repeat.Body)
	}
	return n
}

// clean changes x, and nothing that x points to.
func clean(x *whittle.Exchange, by Redactor) {
	by.Request(&x.Request)
	by.Response(&x.Monolith)
	by.Response(&x.Candidate)
	if x.Repeat != nil {
		again := *x.Repeat
		by.Response(&again)
		x.Repeat = &again
	}
}

// Decoder reads messages. The zero value is ready; it is for one goroutine.
type Decoder struct{ block capture.BlockReader }

// Decode reads a message, which belongs to the caller.
func (d *Decoder) Decode(b []byte) (*Message, error) {
	if len(b) == 0 || len(b) > MaxMessage || b[0] != version {
		return nil, errMessage
	}
	in := cursor{b: b[1:]}
	m := &Message{Gateway: in.text(), Digest: in.text(), Run: in.number(), Number: in.number()}
	x := &whittle.Exchange{User: in.number(), FirstChance: in.fraction()}
	flags := in.number()
	h, ok := capture.ParseHeader(in.b)
	if in.bad || !ok || flags > knownFlags || h.Count < 2 || h.Count > 3 || h.Size() != int64(len(in.b)) || h.Unpacked() > maxUnpacked+2*MaxMessage {
		return nil, errMessage
	}
	if err := d.block.Reset(&h, in.b[capture.HeaderLen:]); err != nil {
		return nil, errMessage
	}
	defer d.block.Drop()
	entries := make([]*capture.Entry, h.Count)
	for i := range entries {
		var e capture.Entry
		if d.block.Next(&e) != nil {
			return nil, errMessage
		}
		entries[i] = e.Clone()
	}
	if d.block.Next(new(capture.Entry)) != io.EOF { //nolint:errorlint // as it is documented
		return nil, errMessage
	}
	first := entries[0]
	x.Route, x.Conn, x.At, x.Request, x.Monolith, x.Candidate = first.Route, first.Conn, first.At, first.Request, first.Response, entries[1].Response
	if h.Count == 3 {
		x.Repeat = &entries[2].Response
	}
	if flags&servedByCandidate != 0 {
		x.Served = whittle.Candidate
	}
	x.FellBack = flags&fellBack != 0
	m.Exchange = x
	return m, nil
}

// cursor reads a head.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) number() uint64 {
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[size:]
	return n
}

func (c *cursor) text() string {
	n := c.number()
	if n > maxName || n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return ""
	}
	s := string(c.b[:n])
	c.b = c.b[n:]
	return s
}

func (c *cursor) fraction() float64 {
	if len(c.b) < 8 {
		c.bad, c.b = true, nil
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
	c.bad = c.bad || !(f >= 0 && f <= 1)
	return f
}

// Package evidence encodes what a fleet's leader judges from: whole exchanges, with the
// responses of both sides, for its stream, and the outcomes of users' requests. It publishes
// nothing.
package evidence

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

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
	// Rounds are what both sides responded when they were asked again, where Again says
	// that it is about that.
	Again  bool
	Rounds []whittle.Round
}

// Redactor takes secrets out, and replaces what it changes. *redact.Redactor is one.
type Redactor interface {
	Request(q *whittle.Request)
	Response(a *whittle.Response)
}

// A message as bytes: a head, and the exchange as one block of the exchange log's
// (record/capture) with two or three entries. The first has the request and the
// monolith's response, the second the candidate's, the third the repeat. Where both were
// asked again there is no repeat, and each round has two entries, as the first two.
//
//	version      1
//	gateway      length and bytes, as the digest
//	digest
//	run number user
//	chance       8 bytes, of FirstChance
//	flags        1 the candidate served, 2 it failed and the monolith responded instead,
//	             4 both were asked again
//	rounds       where they were: their number, and the time of each in nanoseconds
//
// Numbers are varints. A reader takes what is not above its own version.
const version = 1

const (
	servedByCandidate = 1 << iota
	fellBack
	asked
	knownFlags = 1<<iota - 1
)

const (
	// MaxMessage bounds a message, in bytes: what NATS takes by default.
	MaxMessage = 1 << 20
	// maxUnpacked bounds the bodies of a message together, so that one message does
	// not take a leader's memory.
	maxUnpacked = 8 << 20
	// maxName bounds a gateway's name and a digest, and maxRounds the rounds.
	maxName   = 256
	maxRounds = 16
)

// errMessage is the error of bytes that are no message.
var errMessage = errors.New("not an exchange of a fleet, or one of a later version")

// Encoder writes messages. The zero value is ready; it is for one goroutine.
type Encoder struct{ block capture.Block }

// Append writes m behind b, redacted: nothing leaves the process that by has not seen.
// Nil: as it is, which is for tests. On an error, which is ResourceExhausted for an
// exchange that is too large, b comes back as it was.
func (e *Encoder) Append(b []byte, m *Message, by Redactor) ([]byte, error) {
	if len(m.Gateway) > maxName || len(m.Digest) > maxName || len(m.Rounds) > maxRounds {
		return b, whittle.Errorf(whittle.Invalid, "a gateway's name or a digest has more than %d bytes, or there are more than %d rounds", maxName, maxRounds)
	}
	defer e.block.Drop()
	x := m.Exchange
	entries := m.entries()
	size := 0
	for i := range entries {
		size += len(entries[i].Request.Body) + len(entries[i].Response.Body)
	}
	if size > maxUnpacked {
		return b, tooLarge()
	}
	if by != nil {
		by.Request(&entries[0].Request)
	}
	for i := range entries {
		if by != nil {
			by.Response(&entries[i].Response)
		}
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
	w = binary.AppendUvarint(w, flags(x.Served == whittle.Candidate, x.FellBack, m.Again))
	if m.Again {
		w = binary.AppendUvarint(w, uint64(len(m.Rounds)))
		for i := range m.Rounds {
			w = binary.AppendUvarint(w, uint64(max(0, m.Rounds[i].After)))
		}
	}
	if w = e.block.Seal(w, 0); len(w)-len(b) > MaxMessage {
		return b, tooLarge()
	}
	return w, nil
}

// flags are bits, the lowest first.
func flags(set ...bool) (f uint64) {
	for i, is := range set {
		if is {
			f |= 1 << i
		}
	}
	return f
}

func tooLarge() error {
	return whittle.Errorf(whittle.ResourceExhausted, "the exchange is too large for a fleet's stream")
}

// entries are those of the message's block.
func (m *Message) entries() []capture.Entry {
	x := m.Exchange
	all := []capture.Entry{
		{Route: x.Route, Conn: x.Conn, At: x.At, Served: x.Served, Request: x.Request, Response: x.Monolith},
		{At: x.At, Response: x.Candidate},
	}
	if x.Repeat != nil && !m.Again {
		all = append(all, capture.Entry{At: x.At, Response: *x.Repeat})
	}
	for i := range m.Rounds {
		r := &m.Rounds[i]
		all = append(all, capture.Entry{At: x.At, Response: r.Monolith}, capture.Entry{At: x.At, Response: r.Candidate})
	}
	return all
}

// Decoder reads messages. The zero value is ready; it is for one goroutine.
type Decoder struct{ block capture.BlockReader }

// Decode reads a message, which belongs to the caller.
func (d *Decoder) Decode(b []byte) (*Message, error) {
	if len(b) == 0 || len(b) > MaxMessage || b[0] != version {
		return nil, errMessage
	}
	in := cursor{b: b[1:]}
	m := &Message{Gateway: in.text(maxName), Digest: in.text(maxName), Run: in.number(), Number: in.number()}
	x := &whittle.Exchange{User: in.number(), FirstChance: in.fraction()}
	flags := in.number()
	least, most := 2, 3
	if m.Again = flags&asked != 0; m.Again {
		m.Rounds = in.rounds()
		least, most = 2+2*len(m.Rounds), 2+2*len(m.Rounds)
	}
	h, ok := capture.ParseHeader(in.b)
	if in.bad || !ok || flags > knownFlags || h.Count < least || h.Count > most || h.Size() != int64(len(in.b)) || h.Unpacked() > maxUnpacked+2*MaxMessage {
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
	if !m.Again && h.Count == 3 {
		x.Repeat = &entries[2].Response
	}
	for i := range m.Rounds {
		m.Rounds[i].Monolith, m.Rounds[i].Candidate = entries[2+2*i].Response, entries[3+2*i].Response
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

// rounds are those of a head, without their responses.
func (c *cursor) rounds() []whittle.Round {
	n := c.number()
	if n > maxRounds {
		c.bad, c.b = true, nil
		return nil
	}
	all := make([]whittle.Round, n)
	for i := range all {
		after := c.number()
		c.bad = c.bad || after > math.MaxInt64
		all[i].After = time.Duration(after) //nolint:gosec // checked
	}
	return all
}

// signed is a number in zigzag.
func (c *cursor) signed() int64 {
	n := c.number()
	return int64(n>>1) ^ -int64(n&1) //nolint:gosec // all bits are meant
}

// text has at most so many bytes.
func (c *cursor) text(most uint64) string {
	n := c.number()
	if n > most || n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return ""
	}
	s := string(c.b[:n])
	c.b = c.b[n:]
	return s
}

func (c *cursor) fixed() uint64 {
	if len(c.b) < 8 {
		c.bad, c.b = true, nil
		return 0
	}
	n := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return n
}

func (c *cursor) fraction() float64 {
	f := math.Float64frombits(c.fixed())
	c.bad = c.bad || !(f >= 0 && f <= 1)
	return f
}

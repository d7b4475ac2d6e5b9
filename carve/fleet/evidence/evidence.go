// Package evidence encodes what a fleet's leader judges from: whole exchanges, with the
// responses of both sides, for its stream, and the outcomes of users' requests. It publishes
// nothing.
package evidence

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"

	"whittle"
	"whittle/record/capture"
)

// Message is an exchange on its way to the leader.
type Message struct {
	// Gateway and Run name whose ledger has the request.
	Gateway string
	Run     uint64
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

// A message as bytes: the length of its head as a varint, the head as JSON, and the exchange as
// one block of the exchange log's (record/capture) with two or three entries. The first has the
// request and the monolith's response, the second the candidate's, the third the repeat. Where
// both were asked again there is no repeat, and each round has two entries, as the first two.

// version is raised when a reader of the one before would misread a message.
const version = 1

type head struct {
	Version     int             `json:"version"`
	Gateway     string          `json:"gateway"`
	Run         uint64          `json:"run"`
	Digest      string          `json:"digest"`
	User        uint64          `json:"user"`
	FirstChance float64         `json:"first_chance,omitempty"`
	Served      whittle.Side    `json:"served,omitempty"`
	Unserved    bool            `json:"unserved,omitempty"`
	FellBack    bool            `json:"fell_back,omitempty"`
	Again       bool            `json:"again,omitempty"`
	Rounds      []time.Duration `json:"rounds,omitempty"` // when each was
}

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
	h := head{
		Version: version, Gateway: m.Gateway, Run: m.Run, Digest: m.Digest, User: x.User, FirstChance: x.FirstChance, Served: x.Served,
		Unserved: x.Unserved, FellBack: x.FellBack, Again: m.Again,
	}
	for i := range m.Rounds {
		h.Rounds = append(h.Rounds, m.Rounds[i].After)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return b, err
	}
	w := append(binary.AppendUvarint(b, uint64(len(text))), text...)
	if w = e.block.Seal(w, 0); len(w)-len(b) > MaxMessage {
		return b, tooLarge()
	}
	return w, nil
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
	n, size := binary.Uvarint(b)
	if size <= 0 || len(b) > MaxMessage || n > uint64(len(b)-size) {
		return nil, errMessage
	}
	text, block := b[size:size+int(n)], b[size+int(n):]
	var of head
	if json.Unmarshal(text, &of) != nil || of.Version != version || len(of.Rounds) > maxRounds || !(of.FirstChance >= 0 && of.FirstChance <= 1) || of.Served > whittle.Candidate {
		return nil, errMessage
	}
	m := &Message{Gateway: of.Gateway, Run: of.Run, Digest: of.Digest, Again: of.Again}
	x := &whittle.Exchange{User: of.User, FirstChance: of.FirstChance, Served: of.Served, Unserved: of.Unserved, FellBack: of.FellBack}
	for _, after := range of.Rounds {
		m.Rounds = append(m.Rounds, whittle.Round{After: after})
	}
	least, most := 2, 3
	if m.Again {
		least, most = 2+2*len(m.Rounds), 2+2*len(m.Rounds)
	}
	h, ok := capture.ParseHeader(block)
	if !ok || h.Count < least || h.Count > most || h.Size() != int64(len(block)) || h.Unpacked() > maxUnpacked+2*MaxMessage {
		return nil, errMessage
	}
	if err := d.block.Reset(&h, block[capture.HeaderLen:]); err != nil {
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
	m.Exchange = x
	return m, nil
}

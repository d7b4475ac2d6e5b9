package event

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/internal/jsonscan"
	"whittle/systems/ingest/stream"
)

// Parser reads bodies and keeps its memory from one to the next. The zero
// value is ready. It belongs to one goroutine at a time.
type Parser struct {
	limits Limits
	call   Call
	body   []byte
	scan   jsonscan.Scanner // over the body
	part   jsonscan.Scanner // over a part that was read already
	events []facts
	items  []Item
	places []place
	// shared is what a batch gives to each of its events.
	shared shared
	// top has the members of a body that may have a batch.
	top [names]span
	// sharedText is what the batch itself said of them.
	sharedText []byte
	// out has the values of all records, text their ids and keys.
	out, text []byte
	scratch   []byte
	received  []byte       // as receivedAt has it; empty: nobody has asked
	headers   []kindHeader // one for each kind of the body
}

// kept is how much memory a Parser keeps for the next body.
const kept = 1 << 20

// Parse reads a body. Its error is about the whole body, with the code Invalid
// where it is not what its kind says, and ResourceExhausted where it is beyond
// a limit; what is wrong with a single event is in its Item. The Batch's
// memory is valid until the next call; the body's is not kept.
func (p *Parser) Parse(l Limits, c Call, body []byte) (Batch, error) {
	p.begin(l.orDefault(), c, body)
	bulk := c.Kind == Bulk || c.Kind == Import
	if most := p.limits.Batch; bulk && len(body) > most || len(body) > math.MaxInt32 {
		return Batch{}, whittle.Errorf(whittle.ResourceExhausted, "the body has %d bytes, %d are allowed", len(body), most)
	}
	var err error
	if bulk {
		err = p.bulk()
	} else {
		err = p.single()
	}
	if err == nil {
		err = p.make()
	}
	switch {
	case errors.Is(err, ErrNoBatch) && c.Kind == Import:
		return p.self(), err
	case err != nil:
		return Batch{}, err
	}
	b := Batch{WriteKey: p.call.WriteKey, Items: p.items}
	if len(p.sharedText) > 0 {
		b.Shared = p.sharedText
	}
	return b, nil
}

// begin makes ready for a body, and releases what a large one has left.
func (p *Parser) begin(l Limits, c Call, body []byte) {
	if len(p.body) > kept {
		p.scan = jsonscan.Scanner{}
	}
	p.limits, p.call, p.shared, p.body, p.top = l, c, shared{}, body, [names]span{}
	p.scan.Reset(body, 0, math.MaxInt) // an event's own depth is bounded in read
	p.events, p.items, p.headers = p.events[:0], p.items[:0], p.headers[:0]
	p.out, p.text, p.sharedText = p.out[:0], p.text[:0], p.sharedText[:0]
	if cap(p.out) > kept {
		p.out = nil
	}
	if cap(p.sharedText) > kept {
		p.sharedText = nil
	}
	p.received = p.received[:0]
}

var (
	errNoObject    = invalid("the body is not a JSON object")
	errBodyNotUTF8 = invalid("the body is not JSON: it is not UTF-8")
)

// single reads a body that is one event.
func (p *Parser) single() error {
	b := p.body
	i := jsonscan.Space(b, 0)
	if len(b)-i > p.limits.Event {
		if n := len(bytes.TrimRight(b[i:], " \t\r\n")); n > p.limits.Event {
			return tooLarge(n, p.limits.Event)
		}
	}
	if kind := p.scan.Next(); kind == jsonscan.None || !p.read(kind, 0) || p.scan.Finish() != nil {
		if len(b) > p.limits.Event {
			return tooLarge(len(b), p.limits.Event)
		}
		return p.errBody()
	}
	f := &p.events[0]
	if errors.Is(f.err, errNotObject) {
		return errNoObject
	}
	key, err := p.textOf(f.value[writeKey], writeKey)
	if err == nil {
		p.offer(key)
	} else if f.err == nil {
		f.err = err
	}
	return nil
}

// bulk reads a body that has a batch.
func (p *Parser) bulk() error {
	s := &p.scan
	if s.Next() != jsonscan.Object {
		if s.Finish() != nil {
			return p.errBody()
		}
		return ErrNoBatch
	}
	value := &p.top
	array, named, twice := false, false, false
	for s.Next() == jsonscan.Key {
		from := s.Start()
		key := p.keyText(s)
		n, batch := nameOf(key), string(key) == "batch"
		twice, named = twice || batch && named, named || batch
		kind := s.Next()
		if batch && kind == jsonscan.Array {
			array = true
			if err := p.array(); err != nil {
				return err
			}
			continue
		}
		v := span{from: uint32(s.Start())}
		if s.Skip(); s.Err() != nil {
			return p.errBody()
		}
		if !utf8.Valid(p.body[from:s.End()]) {
			return errBodyNotUTF8
		}
		v.to = uint32(s.End())
		twice = twice || n != other && !value[n].none()
		value[n] = v
	}
	switch {
	case s.Finish() != nil:
		return p.errBody()
	case !array:
		return ErrNoBatch
	case twice:
		return invalid("the body has a member twice")
	}
	return p.share(value)
}

// self is what a body that is no batch says of itself.
func (p *Parser) self() (b Batch) {
	text := func(n name, limit int) string {
		read := p.textOf
		if n != messageID {
			read = func(v span, n name) ([]byte, error) { return p.name(n, v) }
		}
		found, err := read(p.top[n], n)
		if err != nil || len(found) > limit || !utf8.Valid(found) {
			return ""
		}
		return string(found)
	}
	b.ID = text(messageID, stream.MaxID)
	b.Key = cmp.Or(text(userID, stream.MaxKey), text(anonymousID, stream.MaxKey))
	return b
}

// array reads the events of the batch that was begun.
func (p *Parser) array() error {
	s := &p.scan
	for base := s.Depth(); ; {
		s.Mark()
		before, known := *s, len(p.events)
		kind := s.Next()
		switch {
		case kind == jsonscan.End:
			return nil
		case len(p.events) >= p.limits.Events:
			return whittle.Errorf(whittle.ResourceExhausted, "the batch has more than %d events", p.limits.Events)
		case kind == jsonscan.None || !p.read(kind, base):
			p.events = p.events[:known]
			if !p.pass(&before) {
				return p.errBody()
			}
		}
	}
}

// share notes what the batch's own members give to each event.
func (p *Parser) share(value *[names]span) error {
	key, err := p.textOf(value[writeKey], writeKey)
	if err != nil {
		return err
	}
	p.offer(key)
	for _, n := range [...]name{contextName, integrations, sentAt} {
		if v := value[n]; !v.none() {
			p.sharedText = append(append(append(p.sharedText, '"'), nameText[n]...), '"', ':')
			p.sharedText = append(append(p.sharedText, v.of(p.body)...), ',')
		}
	}
	if p.shared.context, err = p.extras(value[contextName], contextName); err != nil {
		return err
	}
	if p.shared.integrations, err = p.extras(value[integrations], integrations); err != nil {
		return err
	}
	if t, ok := p.moment(value[sentAt]); ok {
		p.shared.sent, p.shared.sentAt = t, value[sentAt]
	}
	return nil
}

// offer takes the body's write key where the call has none.
func (p *Parser) offer(key []byte) {
	if p.call.WriteKey == "" {
		p.call.WriteKey = string(key)
	}
}

// textOf returns a member that is a string, or null or missing: then it is empty.
// The text is valid until the next call.
func (p *Parser) textOf(v span, n name) ([]byte, error) {
	b := p.body
	if v.none() || b[v.from] == 'n' {
		return nil, nil
	}
	raw := v.of(b)
	if raw[0] != '"' {
		return nil, invalid("%s is not a string", nameText[n])
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	text, whole := jsonscan.AppendText(p.scratch[:0], raw[1:len(raw)-1])
	p.scratch = text
	if !whole && n == messageID {
		// Two such ids could differ in nothing but the halves that were lost.
		return nil, invalid("%s has half a surrogate pair", nameText[n])
	}
	return text, nil
}

// shared is what a batch gives to each of its events.
type shared struct {
	context, integrations []extra
	// sent is sentAt, where that can be read as a time.
	sent   time.Time
	sentAt span
}

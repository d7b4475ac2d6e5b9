package event

import (
	"bytes"
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"whittle"
)

// Parser reads bodies and keeps its memory from one to the next. The zero
// value is ready. It belongs to one goroutine at a time.
type Parser struct {
	limits  Limits
	call    Call
	scanner scanner
	events  []facts
	items   []Item
	places  []place
	// shared is what a batch gives to each of its events.
	shared shared
	// out has the values of all records, text their ids and keys.
	out, text []byte
	scratch   []byte
	received  []byte       // as receivedAt has it
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
	if err != nil {
		return Batch{}, err
	}
	return Batch{WriteKey: p.call.WriteKey, Items: p.items}, nil
}

// begin makes ready for a body, and releases what a large one has left.
func (p *Parser) begin(l Limits, c Call, body []byte) {
	p.limits, p.call, p.shared = l, c, shared{}
	p.scanner.b = body
	p.events, p.items, p.headers = p.events[:0], p.items[:0], p.headers[:0]
	p.out, p.text = p.out[:0], p.text[:0]
	if cap(p.out) > kept || cap(p.scanner.open) > kept {
		p.out, p.scanner.open = nil, nil
	}
	p.received = appendTime(p.received[:0], c.Received)
}

var (
	errBody     = invalid("the body is not JSON")
	errNoObject = invalid("the body is not a JSON object")
)

// single reads a body that is one event.
func (p *Parser) single() error {
	b := p.scanner.b
	i := skipSpace(b, 0)
	if len(b)-i > p.limits.Event {
		if n := len(bytes.TrimRight(b[i:], " \t\r\n")); n > p.limits.Event {
			return tooLarge(n, p.limits.Event)
		}
	}
	if i >= len(b) {
		return errBody
	}
	end := p.read(i, 0)
	if end < 0 || skipSpace(b, end) != len(b) {
		return errBody
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
	s := &p.scanner
	i := skipSpace(s.b, 0)
	if i >= len(s.b) {
		return errBody
	}
	if s.b[i] != '{' {
		if end := s.skip(i, 0); end < 0 || skipSpace(s.b, end) != len(s.b) {
			return errBody
		}
		return ErrNoBatch
	}
	var value [names]span
	array, named, twice := false, false, false
	o := s.object(i, 0)
	for o.next() {
		key := p.keyText(&o)
		n := nameOf(key)
		if string(key) == "batch" {
			twice, named = twice || named, true
			if s.b[o.at] == '[' {
				array = true
				if err := p.array(&o); err != nil {
					return err
				}
				continue
			}
		}
		if o.skip() && !utf8.Valid(s.b[o.key.from:o.value.to]) {
			return errBody
		}
		twice = twice || n != other && !value[n].none()
		value[n] = o.value
	}
	switch {
	case o.at < 0 || skipSpace(s.b, o.at) != len(s.b):
		return errBody
	case !array:
		return ErrNoBatch
	case twice:
		return invalid("the body has a member twice")
	}
	return p.share(&value)
}

// array reads the events of a batch.
func (p *Parser) array(o *object) error {
	const base = 2
	b := p.scanner.b
	i := skipSpace(b, o.at+1)
	if i < len(b) && b[i] == ']' {
		o.done(i + 1)
		return nil
	}
	for i < len(b) {
		if len(p.events) >= p.limits.Events {
			return whittle.Errorf(whittle.ResourceExhausted, "the batch has more than %d events", p.limits.Events)
		}
		if i = p.read(i, base); i < 0 {
			break
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ']' {
			o.done(i + 1)
			return nil
		}
		if i >= len(b) || b[i] != ',' {
			break
		}
		i = skipSpace(b, i+1)
	}
	o.done(-1)
	return nil
}

// share notes what the batch's own members give to each event.
func (p *Parser) share(value *[names]span) error {
	key, err := p.textOf(value[writeKey], writeKey)
	if err != nil {
		return err
	}
	p.offer(key)
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
	b := p.scanner.b
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
	text, whole := unquote(p.scratch[:0], raw)
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

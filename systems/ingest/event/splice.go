package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/stream"
)

// maxMessageID is the first number of characters that is too many for an id.
const maxMessageID = 100

// added bounds what is added to an event beside its batch's context and
// integrations: six members with their names, four of them times.
const added = 512

// place is where a record's parts are in a Parser's memory.
type place struct{ value, id, key span }

// splicing is the event in hand.
type splicing struct {
	f     *facts
	kind  Kind
	newID string // empty: it has one
	// happened is the timestamp.
	happened              time.Time
	context, integrations addition
	at                    place
}

// size is what the event will have, but for the fixed part that added bounds.
func (s *splicing) size() int {
	n := s.f.at.len() + s.context.size + s.integrations.size
	if s.f.value[originalTimestamp].none() && s.f.value[timestamp].len() > longTime {
		n += s.f.value[timestamp].len() // is kept a second time, as what it was
	}
	return n
}

// make makes the records of all events that were read.
func (p *Parser) make() error {
	if need := min(len(p.scanner.b)+len(p.events)*added, p.limits.Merged+added); cap(p.out) < need {
		p.out = make([]byte, 0, need)
	}
	p.places = p.places[:0]
	for i := range p.events {
		f := &p.events[i]
		item := Item{Err: f.err}
		var s splicing
		if item.Err == nil {
			s, item.Err = p.judge(f)
		}
		if item.Err == nil {
			if len(p.out)+s.size()+p.shared.sentAt.len()+added > p.limits.Merged {
				return whittle.Errorf(whittle.ResourceExhausted,
					"the batch's events, each with the batch's context, have more than %d bytes", p.limits.Merged)
			}
			p.splice(&s)
			item.Record = stream.Record{Time: p.call.Received, Header: p.header(s.kind), ID: s.newID}
		}
		p.items, p.places = append(p.items, item), append(p.places, s.at)
	}
	p.seal()
	return nil
}

// seal gives the records what lies in the Parser's memory, which grows no more.
func (p *Parser) seal() {
	text := string(p.text)
	for i := range p.items {
		if p.items[i].Err != nil {
			continue
		}
		r, at := &p.items[i].Record, &p.places[i]
		if r.ID == "" {
			r.ID = text[at.id.from:at.id.to]
		}
		r.Key = text[at.key.from:at.key.to]
		r.Value = p.out[at.value.from:at.value.to:at.value.to]
		r.Seal()
	}
}

// judge decides whether an event is accepted, and what becomes of it.
func (p *Parser) judge(f *facts) (s splicing, err error) {
	s.f = f
	if s.kind, err = p.kind(f); err != nil {
		return s, err
	}
	if err = p.id(&s); err != nil {
		return s, err
	}
	if err = p.user(&s); err != nil {
		return s, err
	}
	for _, n := range [...]name{contextName, integrations} {
		if err = p.shape(f.value[n], n); err != nil {
			return s, err
		}
	}
	s.context = p.missing(f.value[contextName], p.shared.context)
	s.integrations = p.missing(f.value[integrations], p.shared.integrations)
	if n := s.size(); n > p.limits.Event {
		return s, tooLarge(n, p.limits.Event)
	}
	if !f.hasIP && !p.sharedIP() {
		s.context.ip = p.call.Address
	}
	p.clock(&s)
	return s, nil
}

func (p *Parser) sharedIP() bool {
	for i := range p.shared.context {
		if string(p.shared.context[i].key) == "ip" {
			return true
		}
	}
	return false
}

// kind gives the event's kind: what the call says, which a type must not
// contradict, or in a batch what the type says.
func (p *Parser) kind(f *facts) (Kind, error) {
	text, err := p.textOf(f.value[typeName], typeName)
	if err != nil {
		return "", err
	}
	of := p.call.Kind
	if of != Bulk && of != Import {
		if len(text) > 0 && string(text) != string(of) {
			return "", invalid("type is %q in a call of %s", bound(text), of)
		}
		return of, nil
	}
	for _, k := range [...]Kind{Track, Identify, Page, Screen, Group, Alias} {
		if string(text) == string(k) {
			return k, nil
		}
	}
	if len(text) == 0 {
		return "", invalid("the event has no type")
	}
	return "", invalid("type is %q, which is no kind of event", bound(text))
}

// bound is as much of a client's text as an answer shows.
func bound(text []byte) []byte { return text[:min(len(text), 40)] }

// id takes the event's messageId, or a new one where it has none.
func (p *Parser) id(s *splicing) error {
	text, err := p.textOf(s.f.value[messageID], messageID)
	switch {
	case err != nil:
		return err
	case len(text) == 0:
		s.newID = p.call.NewID()
	case utf8.RuneCount(text) >= maxMessageID:
		return invalid("messageId has %d characters or more", maxMessageID)
	case len(text) > stream.MaxID:
		return invalid("messageId has more than %d bytes", stream.MaxID)
	}
	s.at.id = p.keep(text)
	return nil
}

// keep puts a text where the records' texts are made from.
func (p *Parser) keep(text []byte) span {
	from := len(p.text)
	p.text = append(p.text, text...)
	return span{uint32(from), uint32(len(p.text))}
}

// user takes whose the event is, from userId or else anonymousId.
func (p *Parser) user(s *splicing) error {
	for _, n := range [...]name{userID, anonymousID} {
		text, err := p.name(n, s.f.value[n])
		if err != nil {
			return err
		}
		if len(text) > stream.MaxKey {
			// The key only puts records in order; its hash does that as well.
			sum := sha256.Sum256(text)
			text = hex.AppendEncode([]byte("sha256:"), sum[:])
		}
		if len(text) > 0 {
			s.at.key = p.keep(text)
			return nil
		}
	}
	return errNobody
}

// name gives a user's name: a string, or a number as older clients send it.
func (p *Parser) name(n name, v span) ([]byte, error) {
	if c := p.scanner.b[v.from]; !v.none() && (c == '-' || c-'0' <= 9) {
		return v.of(p.scanner.b), nil
	}
	return p.textOf(v, n)
}

var errNobody = invalid("the event has neither userId nor anonymousId")

// clock decides when the event happened.
func (p *Parser) clock(s *splicing) {
	f := s.f
	original, ok := p.moment(f.value[originalTimestamp])
	if !ok {
		original, _ = p.moment(f.value[timestamp])
	}
	sent := p.shared.sent
	if f.has(p.scanner.b, sentAt) {
		sent, _ = p.moment(f.value[sentAt])
	}
	s.happened = p.limits.happened(p.call.Received, original, sent)
}

// moment reads a member that is a time. Where it is none, ok is false.
func (p *Parser) moment(v span) (t time.Time, ok bool) {
	if v.none() || p.scanner.b[v.from] != '"' {
		return time.Time{}, false
	}
	text, err := p.textOf(v, timestamp)
	if err != nil {
		return time.Time{}, false
	}
	return parseTime(text)
}

// splice copies the event to p.out with all that is changed and added.
func (p *Parser) splice(s *splicing) {
	f, b := s.f, p.scanner.b
	from, cursor := len(p.out), f.at.from
	for _, n := range f.order[:f.known] {
		switch v := f.value[n]; {
		case n == writeKey:
			p.out = append(p.out, b[cursor:f.cut.from]...)
			cursor = f.cut.to
		case p.changes(s, n):
			p.out = append(p.out, b[cursor:v.from]...)
			p.appendValue(s, n)
			cursor = v.to
		}
	}
	p.out = append(p.out, b[cursor:f.at.to-1]...)
	for n := typeName; n < writeKey; n++ {
		if f.value[n].none() && p.changes(s, n) {
			p.out = append(append(append(p.out, ',', '"'), nameText[n]...), '"', ':')
			p.appendValue(s, n)
		}
	}
	p.out = append(p.out, '}')
	s.at.value = span{uint32(from), uint32(len(p.out))}
}

// changes reports whether a member gets another value than it has.
func (p *Parser) changes(s *splicing, n name) bool {
	f, b := s.f, p.scanner.b
	switch n {
	case typeName:
		return !f.has(b, n) || bytes.Equal(f.value[n].of(b), []byte(`""`))
	case messageID:
		return s.newID != ""
	case contextName:
		return s.context.any()
	case integrations:
		return s.integrations.any()
	case originalTimestamp:
		return !f.has(b, n) && f.has(b, timestamp)
	case sentAt:
		return !f.has(b, n) && !p.shared.sentAt.none()
	case timestamp, receivedAt:
		return true
	}
	return false
}

// appendValue appends the value that changes announced.
func (p *Parser) appendValue(s *splicing, n name) {
	f, b := s.f, p.scanner.b
	switch n {
	case typeName:
		p.out = appendQuoted(p.out, string(s.kind))
	case messageID:
		p.out = appendQuoted(p.out, s.newID)
	case contextName:
		p.appendMerged(f.value[n], &s.context)
	case integrations:
		p.appendMerged(f.value[n], &s.integrations)
	case originalTimestamp:
		p.out = append(p.out, f.value[timestamp].of(b)...)
	case timestamp:
		p.out = appendTime(p.out, s.happened)
	case sentAt:
		p.out = append(p.out, p.shared.sentAt.of(b)...)
	case receivedAt:
		p.out = append(p.out, p.received...)
	}
}

// header gives the metadata of a kind's records, made once a body.
func (p *Parser) header(k Kind) []stream.Header {
	if h, ok := p.headers[k]; ok {
		return h
	}
	h := append(make([]stream.Header, 0, 3+len(p.call.Header)), stream.Header{Name: HeaderKind, Value: string(k)})
	if digest := Digest(p.call.WriteKey); digest != "" {
		h = append(h, stream.Header{Name: HeaderSource, Value: digest})
	}
	h = append(append(h, stream.Header{Name: HeaderType, Value: "application/json"}), p.call.Header...)
	if p.headers == nil {
		p.headers = map[Kind][]stream.Header{}
	}
	p.headers[k] = h
	return h
}

package event

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
	"unicode/utf8"

	"whittle/systems/ingest/stream"
)

// maxMessageID is the first number of characters that is too many for an id.
const maxMessageID = 100

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
	if n := p.size(&s); n > p.limits.Event {
		return s, tooLarge(n, p.limits.Event)
	}
	if !f.hasIP && !slices.ContainsFunc(p.shared.context, func(e extra) bool { return string(e.key) == "ip" }) {
		s.context.ip = p.call.Address
	}
	p.clock(&s)
	return s, nil
}

// kind returns the event's kind: what the call says, which a type must not
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

// bound is as much of a client's text as a response shows.
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

// name returns a user's name: a string, or a number as older clients send it.
func (p *Parser) name(n name, v span) ([]byte, error) {
	if c := p.body[v.from]; !v.none() && (c == '-' || c-'0' <= 9) {
		return v.of(p.body), nil
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
	if f.has(p.body, sentAt) {
		sent, _ = p.moment(f.value[sentAt])
	}
	s.happened = p.limits.happened(p.call.Received, original, sent)
}

// moment reads a member that is a time. Where it is none, ok is false.
func (p *Parser) moment(v span) (t time.Time, ok bool) {
	if v.none() || p.body[v.from] != '"' {
		return time.Time{}, false
	}
	text, err := p.textOf(v, timestamp)
	if err != nil {
		return time.Time{}, false
	}
	return parseTime(text)
}

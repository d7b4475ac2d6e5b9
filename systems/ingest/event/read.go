package event

import (
	"errors"
	"unicode/utf8"

	"whittle"
	"whittle/internal/jsonscan"
)

// maxDepth is how many objects and arrays of an event may lie within each other.
const maxDepth = 128

// name is a member that the package reads. Others are only kept.
type name uint8

// The members, in the order in which missing ones are added.
const (
	other name = iota
	typeName
	messageID
	userID
	anonymousID
	contextName
	integrations
	originalTimestamp
	timestamp
	sentAt
	receivedAt
	writeKey
	names
)

var nameText = [names]string{
	typeName: "type", messageID: "messageId", userID: "userId", anonymousID: "anonymousId",
	contextName: "context", integrations: "integrations", originalTimestamp: "originalTimestamp",
	timestamp: "timestamp", sentAt: "sentAt", receivedAt: "receivedAt", writeKey: "writeKey",
}

func nameOf(key []byte) name {
	switch string(key) {
	case "type":
		return typeName
	case "messageId":
		return messageID
	case "userId":
		return userID
	case "anonymousId":
		return anonymousID
	case "context":
		return contextName
	case "integrations":
		return integrations
	case "originalTimestamp":
		return originalTimestamp
	case "timestamp":
		return timestamp
	case "sentAt":
		return sentAt
	case "receivedAt":
		return receivedAt
	case "writeKey":
		return writeKey
	}
	return other
}

// facts is what one pass over an event finds.
type facts struct {
	at    span
	value [names]span
	// order has the named members as they come, known is how many.
	order [names]name
	known int
	// cut is the write key's member, with the comma that goes with it.
	cut span
	// hasIP says that the context has a member ip.
	hasIP bool
	err   error
	// wrong is the byte at which it shows that the event is not JSON.
	wrong int
}

// has reports whether the event has a member, and not as null.
func (f *facts) has(b []byte, n name) bool { return !f.value[n].none() && b[f.value[n].from] != 'n' }

func invalid(format string, args ...any) error {
	return whittle.Errorf(whittle.Invalid, format, args...)
}

// read goes over the next value of the body and adds what it is to p.events. It
// reports false where no value is there, or a wrong one.
func (p *Parser) read(kind jsonscan.Kind, base int) bool {
	s := &p.scan
	p.events = append(p.events, facts{})
	f := &p.events[len(p.events)-1]
	from := s.Start()
	if kind == jsonscan.Object {
		p.members(f)
	} else {
		s.Skip()
		f.err = errNotObject
	}
	if s.Err() != nil {
		return false
	}
	f.at = span{uint32(from), uint32(s.End())}
	switch {
	case errors.Is(f.err, errNotObject):
	case f.at.len() > p.limits.Event:
		f.err = tooLarge(f.at.len(), p.limits.Event)
	case s.Deepest()-base > maxDepth:
		f.err = invalid("the event is nested deeper than %d", maxDepth)
	case !s.ASCII() && !utf8.Valid(f.at.of(p.body)):
		f.err = errNotUTF8
	}
	return true
}

var (
	errNotObject = invalid("the event is not an object")
	errNotUTF8   = invalid("the event is not UTF-8")
)

func tooLarge(n, limit int) error {
	return whittle.Errorf(whittle.ResourceExhausted, "the event has %d bytes, %d are allowed", n, limit)
}

// members notes the named members of the object that was begun.
func (p *Parser) members(f *facts) {
	s := &p.scan
	pendingCut := false
	last := 0 // where the member before ends
	for s.Next() == jsonscan.Key {
		key := s.Start()
		if pendingCut {
			f.cut.to, pendingCut = uint32(key), false
		}
		n := nameOf(p.keyText(s))
		kind := s.Next()
		value := span{from: uint32(s.Start())}
		if n == contextName && kind == jsonscan.Object {
			p.address(f)
		} else {
			s.Skip()
		}
		value.to = uint32(s.End())
		if s.Err() == nil && n != other {
			if f.note(n, value) && n == writeKey {
				f.cut = span{uint32(jsonscan.Space(p.body, last)), value.to}
				if last == 0 {
					f.cut.from, pendingCut = uint32(key), true
				}
			}
		}
		last = s.End()
	}
}

// note keeps a member, and reports false where the event has it already.
func (f *facts) note(n name, value span) bool {
	if !f.value[n].none() {
		f.err = invalid("the event has %s twice", nameText[n])
		return false
	}
	f.value[n], f.order[f.known] = value, n
	f.known++
	return true
}

// address goes over the context that was begun and notes whether it has an
// address.
func (p *Parser) address(f *facts) {
	s := &p.scan
	for s.Next() == jsonscan.Key {
		if string(p.keyText(s)) == "ip" {
			f.hasIP = true
		}
		s.Skip()
	}
}

// keyText is what the key in hand means, until the next call.
func (p *Parser) keyText(s *jsonscan.Scanner) []byte {
	if !s.Escaped() {
		return s.Inside()
	}
	p.scratch, _ = jsonscan.AppendText(p.scratch[:0], s.Inside())
	return p.scratch
}

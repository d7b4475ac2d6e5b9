package event

import (
	"errors"
	"unicode/utf8"

	"whittle"
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

// facts is what one pass over an event tells.
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
}

// has reports whether the event has a member, and not as null.
func (f *facts) has(b []byte, n name) bool { return !f.value[n].none() && b[f.value[n].from] != 'n' }

func invalid(format string, args ...any) error {
	return whittle.Errorf(whittle.Invalid, format, args...)
}

// read goes over the value at i and adds what it is to p.events. It responses
// where it ends, −1 where the text is wrong. base is how many containers are
// around it.
func (p *Parser) read(i, base int) int {
	s := &p.scanner
	s.deep, s.high = base, 0
	p.events = append(p.events, facts{})
	f := &p.events[len(p.events)-1]
	var end int
	if s.b[i] == '{' {
		end = p.members(f, i, base)
	} else {
		end = s.skip(i, base)
		f.err = errNotObject
	}
	if end < 0 {
		return end
	}
	f.at = span{uint32(i), uint32(end)}
	switch {
	case errors.Is(f.err, errNotObject):
	case f.at.len() > p.limits.Event:
		f.err = tooLarge(f.at.len(), p.limits.Event)
	case s.deep-base > maxDepth:
		f.err = invalid("the event is nested deeper than %d", maxDepth)
	case s.high&tops != 0 && !utf8.Valid(f.at.of(s.b)):
		f.err = errNotUTF8
	}
	return end
}

var (
	errNotObject = invalid("the event is not an object")
	errNotUTF8   = invalid("the event is not UTF-8")
)

func tooLarge(n, limit int) error {
	return whittle.Errorf(whittle.ResourceExhausted, "the event has %d bytes, %d are allowed", n, limit)
}

// members notes the named members of the object at i.
func (p *Parser) members(f *facts, i, base int) int {
	o := p.scanner.object(i, base)
	pendingCut := false
	for o.next() {
		if pendingCut {
			f.cut.to, pendingCut = o.key.from, false
		}
		n := nameOf(p.keyText(&o))
		var ok bool
		if n == contextName && p.scanner.b[o.at] == '{' {
			ok = o.done(p.address(f, o.at, base+1))
		} else {
			ok = o.skip()
		}
		if !ok {
			break
		}
		if n == other {
			continue
		}
		if !f.value[n].none() {
			f.err = invalid("the event has %s twice", nameText[n])
			continue
		}
		f.value[n], f.order[f.known] = o.value, n
		f.known++
		if n == writeKey {
			f.cut = span{o.comma, o.value.to}
			if o.comma == 0 {
				f.cut.from, pendingCut = o.key.from, true
			}
		}
	}
	return o.at
}

// address goes over the context at i and notes whether it has an address.
func (p *Parser) address(f *facts, i, base int) int {
	o := p.scanner.object(i, base)
	for o.next() {
		if string(p.keyText(&o)) == "ip" {
			f.hasIP = true
		}
		if !o.skip() {
			break
		}
	}
	return o.at
}

// keyText is what the key in hand means, until the next call.
func (p *Parser) keyText(o *object) []byte {
	if !o.escaped {
		return p.scanner.b[o.key.from+1 : o.key.to-1]
	}
	p.scratch, _ = unquote(p.scratch[:0], o.key.of(p.scanner.b))
	return p.scratch
}

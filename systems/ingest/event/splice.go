package event

import (
	"bytes"

	"whittle/internal/jsonscan"
)

// splice copies the event to p.out with all that is changed and added.
func (p *Parser) splice(s *splicing) {
	f, b := s.f, p.body
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
	f, b := s.f, p.body
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
	f, b := s.f, p.body
	switch n {
	case typeName:
		p.out = jsonscan.AppendString(p.out, string(s.kind))
	case messageID:
		p.out = jsonscan.AppendString(p.out, s.newID)
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
		if len(p.received) == 0 {
			p.received = appendTime(p.received, p.call.Received)
		}
		p.out = append(p.out, p.received...)
	}
}

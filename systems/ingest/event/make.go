package event

import (
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// added bounds what is added to an event in addition to its batch's context and
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
func (p *Parser) size(s *splicing) int {
	n := s.f.at.len() + s.context.size + s.integrations.size
	if again := s.f.value[timestamp].len(); again > longTime && p.changes(s, originalTimestamp) {
		n += again
	}
	return n
}

// make makes the records of all events that were read.
func (p *Parser) make() error {
	if need := min(len(p.body)+len(p.events)*added, p.limits.Merged+added); cap(p.out) < need {
		p.out = make([]byte, 0, need)
	}
	p.places = p.places[:0]
	for i := range p.events {
		f := &p.events[i]
		item := Item{Err: f.err, Raw: f.at.of(p.body), Offset: max(int(f.at.from), f.wrong)}
		var s splicing
		if item.Err == nil {
			s, item.Err = p.judge(f)
		}
		if item.Err == nil {
			if len(p.out)+p.size(&s)+p.shared.sentAt.len()+added > p.limits.Merged {
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

// kindHeader is the metadata of one kind's records.
type kindHeader struct {
	kind   Kind
	header []stream.Header
}

// header returns the metadata of a kind's records, made once a body.
func (p *Parser) header(k Kind) []stream.Header {
	for i := range p.headers {
		if p.headers[i].kind == k {
			return p.headers[i].header
		}
	}
	h := append(make([]stream.Header, 0, 3+len(p.call.Header)), stream.Header{Name: HeaderKind, Value: string(k)})
	if digest := Digest(p.call.WriteKey); digest != "" {
		h = append(h, stream.Header{Name: HeaderSource, Value: digest})
	}
	h = append(append(h, stream.Header{Name: HeaderType, Value: "application/json"}), p.call.Header...)
	p.headers = append(p.headers, kindHeader{k, h})
	return h
}

package event

import (
	"bytes"
	"slices"

	"whittle"
	"whittle/internal/jsonscan"
)

// maxExtras bounds the members of a batch's context, and of its integrations:
// each is looked for in each event.
const maxExtras = 128

// extra is a member of a batch's context or integrations.
type extra struct {
	// key is what its name means, member the name and value as they came.
	key    []byte
	member span
}

// extras lists the members of the object at v, none where v is null, missing
// or an empty array: PHP writes an empty object so.
func (p *Parser) extras(v span, n name) ([]extra, error) {
	b := p.body
	if v.none() || b[v.from] != '{' {
		return nil, p.shape(v, n)
	}
	var all []extra
	s := &p.part
	s.Reset(b, int(v.from), maxDepth)
	for s.Next(); s.Next() == jsonscan.Key; {
		from := s.Start()
		key := p.keyText(s)
		if s.Escaped() {
			key = bytes.Clone(key)
		}
		if !s.Skip() {
			break
		}
		if slices.ContainsFunc(all, func(e extra) bool { return bytes.Equal(e.key, key) }) {
			return nil, invalid("the batch's %s has a member twice", nameText[n])
		}
		if len(all) == maxExtras {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "the batch's %s has more than %d members", nameText[n], maxExtras)
		}
		all = append(all, extra{key: key, member: span{uint32(from), uint32(s.End())}})
	}
	if s.Err() != nil { // it was read before, so it is JSON
		return nil, invalid("the batch's %s is nested deeper than %d", nameText[n], maxDepth)
	}
	return all, nil
}

func emptyArray(b []byte) bool { return b[0] == '[' && b[jsonscan.Space(b, 1)] == ']' }

// addition is what is to be added to an event's context or integrations.
type addition struct {
	all []extra
	// held says which of all the event has itself.
	held [maxExtras/64 + 1]uint64
	// size is the bytes of those that it has not.
	size int
	ip   string
}

func (a *addition) holds(i int) bool { return a.held[i/64]>>(i%64)&1 != 0 }

func (a *addition) any() bool { return a.size > 0 || a.ip != "" }

// shape checks that a member can be merged into: an object, null, missing, or
// the empty array.
func (p *Parser) shape(v span, n name) error {
	b := p.body
	if v.none() || b[v.from] == '{' || b[v.from] == 'n' || emptyArray(v.of(b)) {
		return nil
	}
	return invalid("%s is not an object", nameText[n])
}

// missing finds which extras the object at v has not. It has been scanned.
func (p *Parser) missing(v span, all []extra) addition {
	a := addition{all: all}
	if len(all) == 0 {
		return a
	}
	if !v.none() && p.body[v.from] == '{' {
		s := &p.part
		s.Reset(p.body, int(v.from), maxDepth)
		for s.Next(); s.Next() == jsonscan.Key; s.Skip() {
			key := p.keyText(s)
			for i := range all {
				if len(all[i].key) == len(key) && string(all[i].key) == string(key) {
					a.held[i/64] |= 1 << (i % 64)
				}
			}
		}
	}
	for i := range all {
		if !a.holds(i) {
			a.size += all[i].member.len() + 1
		}
	}
	return a
}

// appendMerged appends the object at v with what is added to it, which comes
// after its own members.
func (p *Parser) appendMerged(v span, a *addition) {
	b, out := p.body, p.out
	comma := false
	if !v.none() && b[v.from] == '{' {
		out = append(out, b[v.from:v.to-1]...)
		comma = b[jsonscan.Space(b, int(v.from)+1)] != '}'
	} else {
		out = append(out, '{')
	}
	for i := range a.all {
		if a.holds(i) {
			continue
		}
		if comma {
			out = append(out, ',')
		}
		out, comma = append(out, a.all[i].member.of(b)...), true
	}
	if a.ip != "" {
		if comma {
			out = append(out, ',')
		}
		out = jsonscan.AppendString(append(out, `"ip":`...), a.ip)
	}
	p.out = append(out, '}')
}

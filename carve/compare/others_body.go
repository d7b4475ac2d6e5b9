package compare

import (
	"bytes"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// bodyByValue bounds the bodies that are told apart by what they stand for, in bytes;
// larger ones are by their bytes.
const bodyByValue = 64 << 10

// bodyKey tells whole bodies apart. Two JSON bodies have one key where they have the
// same members and values, however they are written: another implementation orders
// and spaces them otherwise. Others have one where they have the same bytes.
func (o *others) bodyKey(body []byte) uint64 {
	switch {
	case len(body) > bodyByValue || len(body) == 0 || body[0] != '{' && body[0] != '[':
		return hashOf(body)
	case bytes.Equal(body, o.lastBody):
		return o.lastKey
	}
	key := hashOf(body)
	if o.doc.scan(body) == scanned {
		key = o.nodeKey(0)
	}
	o.lastBody, o.lastKey = append(o.lastBody[:0], body...), key
	return key
}

// nodeKey is a hash of a value of the document. Members count in any order.
func (o *others) nodeKey(x uint32) uint64 {
	d := &o.doc
	n := &d.nodes[x]
	h := digest.Stir(uint64(n.kind) + 1)
	switch n.kind {
	case kindObject:
		for i := x + 1; i < n.next; i = d.nodes[i+1].next {
			h += digest.Stir(hashOf(keyText(d, i)) ^ 3*o.nodeKey(i+1))
		}
	case kindArray:
		for i := x + 1; i < n.next; i = d.nodes[i].next {
			h = digest.Stir(h ^ o.nodeKey(i))
		}
	case kindNumber:
		var buf [64]byte
		v := parseDecimal(buf[:0], d.text(x))
		h ^= hashOf(v.digits) + 5*uint64(v.exp) + uint64(eprocess.Indicator(v.negative))
	case kindString:
		text := d.text(x)
		if n.escaped {
			o.buf, _ = unquote(o.buf[:0], text)
			text = o.buf
		} else {
			text = text[1 : len(text)-1]
		}
		h ^= hashOf(text)
	default:
		h ^= hashOf(d.text(x))
	}
	return digest.Stir(h)
}

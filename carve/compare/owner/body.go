package owner

import (
	"bytes"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondoc"
)

// bodyByValue bounds the bodies that are distinguished by what they stand for, in bytes;
// larger ones are by their bytes.
const bodyByValue = 64 << 10

// bodyKey distinguishes whole bodies. Two JSON bodies have one key where they have the
// same members and values, however they are written: another implementation orders
// and spaces them otherwise. Others have one where they have the same bytes.
func (o *Memory) bodyKey(body []byte) uint64 {
	switch {
	case len(body) > bodyByValue || len(body) == 0 || body[0] != '{' && body[0] != '[':
		return Hash(body)
	case bytes.Equal(body, o.lastBody):
		return o.lastKey
	}
	key := Hash(body)
	if o.doc.Scan(body) == jsondoc.Scanned {
		key = o.nodeKey(0)
	}
	o.lastBody, o.lastKey = append(o.lastBody[:0], body...), key
	return key
}

// nodeKey is a hash of a value of the document. Members count in any order.
func (o *Memory) nodeKey(x uint32) uint64 {
	d := &o.doc
	n := &d.Nodes[x]
	h := digest.Stir(uint64(n.Kind) + 1)
	switch n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			h += digest.Stir(Hash(d.Key(i)) ^ 3*o.nodeKey(i+1))
		}
	case jsondoc.Array:
		for i := x + 1; i < n.Next; i = d.Nodes[i].Next {
			h = digest.Stir(h ^ o.nodeKey(i))
		}
	case jsondoc.Number:
		var buf [64]byte
		v := jsondoc.ParseDecimal(buf[:0], d.Text(x))
		h ^= Hash(v.Digits) + 5*uint64(v.Exp) + uint64(eprocess.Indicator(v.Negative))
	case jsondoc.String:
		text := d.Text(x)
		if n.Escaped {
			o.buf, _ = jsondoc.Unquote(o.buf[:0], text)
			text = o.buf
		} else {
			text = text[1 : len(text)-1]
		}
		h ^= Hash(text)
	default:
		h ^= Hash(d.Text(x))
	}
	return digest.Stir(h)
}

// Package owner remembers for some minutes, as hashes, which bodies the monolith
// returned to which request. So a response that belongs to another request is
// distinguished from one that is wrong otherwise.
package owner

import (
	"bytes"
	"hash/maphash"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
)

// Bounds of what is remembered of the monolith's responses.
const (
	bodiesMost = 4096            // hashes of whole bodies
	bodiesAge  = 5 * time.Minute // what is older says nothing
	leastBody  = 8               // bytes that make a body distinctive
)

// seedOfOthers makes the hashes of one process. They are never kept, so nobody
// can try values against them.
var seedOfOthers = maphash.MakeSeed()

// Owner says whom the monolith gave a value to, seen from one exchange.
type Owner uint8

const (
	// Nobody: the monolith gave it to nobody of late, or to several requests, so
	// that it belongs to none of them.
	Nobody Owner = iota
	// AnotherRequest: to one other request alone.
	AnotherRequest
	// AnotherCaller: to the same request of another user alone.
	AnotherCaller
	// SameRequest: to the same request of the same user, at another time.
	SameRequest
)

// Memory remembers which bodies the monolith returned to which request in the last
// minutes. So a response that belongs to another request is distinguished from one
// that is wrong otherwise. It stores hashes only, at most bodiesMost, and never on
// disk. Time is that of the exchanges. The zero value is ready.
type Memory struct {
	index map[uint64]int32
	list  []given // a ring: of a body that comes again the owner and the time are those of the last
	next  int
	// came counts what was put lately, shared what of it another request had got, and
	// common what another user had got for the same request.
	came, shared, common int

	json jsondiff.JSON // scratch
	// lastBody is the last one that was read, and lastKey its key.
	lastBody []byte
	lastKey  uint64
}

// asker is whose exchange it is: which request, and of which user.
type asker struct{ request, caller uint64 }

func askerOf(x *whittle.Exchange) asker {
	var h maphash.Hash
	h.SetSeed(seedOfOthers)
	part := func(s string) { h.WriteString(s); h.WriteByte(0) }
	part(x.Request.Method)
	part(x.Request.Target)
	h.Write(x.Request.Body)
	a := asker{request: h.Sum64()}
	h.Reset()
	part(x.Request.Header.Get("Authorization"))
	part(x.Request.Header.Get("Cookie"))
	for i := range 8 {
		h.WriteByte(byte(x.User >> (8 * i)))
	}
	a.caller = h.Sum64()
	return a
}

// given is what is known of one hash.
type given struct {
	key  uint64
	by   asker
	at   time.Time
	many bool // several requests got it
	all  bool // several users got it for this request
}

// Remember takes what the monolith gave in one exchange.
func (o *Memory) Remember(x *whittle.Exchange) {
	a := &x.Monolith
	if a.Failure != whittle.NoFailure || a.Truncated || len(a.Body) < leastBody {
		return
	}
	key, by := o.bodyKey(a.Body), askerOf(x)
	if o.came++; o.came > bodiesMost {
		o.came, o.shared, o.common = o.came/2, o.shared/2, o.common/2
	}
	if i, ok := o.index[key]; ok {
		m := &o.list[i]
		o.shared += int(eprocess.Indicator(m.by.request != by.request))
		o.common += int(eprocess.Indicator(m.by.request == by.request && m.by.caller != by.caller))
		if x.At.Sub(m.at) > bodiesAge {
			*m = given{key: key, by: by, at: x.At}
			return
		}
		m.many = m.many || m.by.request != by.request
		m.all = m.all || m.by.caller != by.caller
		m.by, m.at = by, x.At
		return
	}
	if o.index == nil {
		o.index = map[uint64]int32{}
	}
	m := given{key: key, by: by, at: x.At}
	if len(o.list) < bodiesMost {
		o.index[key] = int32(len(o.list))
		o.list = append(o.list, m)
		return
	}
	delete(o.index, o.list[o.next].key)
	o.list[o.next], o.index[key] = m, int32(o.next)
	o.next = (o.next + 1) % bodiesMost
}

// Whose says whom the candidate's body belongs to. Where the monolith itself often gives to
// one request what it gave to another, as with a few words, a body belongs to nobody.
func (o *Memory) Whose(x *whittle.Exchange) Owner {
	if len(x.Candidate.Body) < leastBody || 10*o.shared > o.came {
		return Nobody
	}
	return o.find(x, x.Candidate.Body)
}

// find says whom the monolith gave a body to. Where users often get the same to one request,
// what one got is no more that user's than another's.
func (o *Memory) find(x *whittle.Exchange, body []byte) Owner {
	i, known := o.index[o.bodyKey(body)]
	if !known {
		return Nobody
	}
	m, by := &o.list[i], askerOf(x)
	switch {
	case m.many || x.At.Sub(m.at).Abs() > bodiesAge:
		return Nobody
	case m.by.request != by.request:
		return AnotherRequest
	case m.by.caller != by.caller && !m.all && 10*o.common <= o.came:
		return AnotherCaller
	}
	return SameRequest
}

// bodyKey distinguishes whole bodies. Two JSON bodies have one key where they have the
// same members and values, however they are written: another implementation orders
// and spaces them otherwise. Others have one where they have the same bytes.
func (o *Memory) bodyKey(body []byte) uint64 {
	switch {
	case len(body) == 0 || body[0] != '{' && body[0] != '[':
		return Hash(body)
	case bytes.Equal(body, o.lastBody):
		return o.lastKey
	}
	key, ok := o.json.Key(body)
	if !ok {
		key = Hash(body)
	}
	o.lastBody, o.lastKey = append(o.lastBody[:0], body...), key
	return key
}

// Hash is what is remembered of a value; it differs from process to process.
func Hash(b []byte) uint64 { return maphash.Bytes(seedOfOthers, b) }

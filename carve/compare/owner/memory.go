// Package owner remembers for some minutes, as hashes, which values the monolith
// returned to which request. So a response that belongs to another request is
// distinguished from one that is wrong otherwise.
package owner

import (
	"hash/maphash"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondoc"
)

// Bounds of what is remembered of the monolith's responses.
const (
	bodiesMost  = 4096            // hashes of whole bodies
	valuesMost  = 4096            // hashes of single values
	wantedMost  = 256             // hashes that are waited for
	ownersAge   = 5 * time.Minute // what is older says nothing
	valuesEvery = 16              // the values of one exchange in so many are remembered,
	valuesPause = 20 * time.Millisecond
	valuesTaken = 64 // of each at most so many
	leastText   = 6  // characters that make a string distinctive,
	leastDigits = 4  // and digits that make a number so
	leastBody   = 8  // bytes that make a body so
	leastCame   = 8  // values after which it can be said whether they are distinguished
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

// Memory remembers which values and bodies the monolith returned to which request in
// the last minutes. So a response that belongs to another request is distinguished
// from one that is wrong otherwise. It stores hashes only, at most bodiesMost and
// valuesMost, and never on disk. Time is that of the exchanges. The zero value is
// ready.
type Memory struct {
	bodies, values ring
	wanted         map[uint64][]*Wish
	waiting        []uint64 // the keys of wanted, oldest first
	seen           int
	lastValues     time.Time
	doc            jsondoc.Document
	buf            []byte // scratch
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

// ring keeps the last hashes that came; of one that comes again the owner and
// the time stay those of the last.
type ring struct {
	index map[uint64]int32
	list  []given
	next  int
	// came counts what was put lately, shared what of it another request had got, and
	// common what another user had got for the same request.
	came, shared, common int
}

// distinctive reports whether the monolith itself seldom gives to one request what it
// gave to another. Where it often does, as with a few words, that a value was given
// to another request says nothing.
func (r *ring) distinctive() bool { return r.came >= leastCame && 10*r.shared <= r.came }

func (r *ring) put(key uint64, by asker, at time.Time, most int) {
	if r.came++; r.came > most {
		r.came, r.shared, r.common = r.came/2, r.shared/2, r.common/2
	}
	if i, ok := r.index[key]; ok {
		m := &r.list[i]
		r.shared += int(eprocess.Indicator(m.by.request != by.request))
		r.common += int(eprocess.Indicator(m.by.request == by.request && m.by.caller != by.caller))
		if at.Sub(m.at) > ownersAge {
			*m = given{key: key, by: by, at: at}
			return
		}
		m.many = m.many || m.by.request != by.request
		m.all = m.all || m.by.caller != by.caller
		m.by, m.at = by, at
		return
	}
	if r.index == nil {
		r.index = map[uint64]int32{}
	}
	m := given{key: key, by: by, at: at}
	if len(r.list) < most {
		r.index[key] = int32(len(r.list))
		r.list = append(r.list, m)
		return
	}
	delete(r.index, r.list[r.next].key)
	r.list[r.next], r.index[key] = m, int32(r.next)
	r.next = (r.next + 1) % most
}

// find says whom a hash belongs to, seen by one who asked at a time, and how long
// before that it was given last.
func (r *ring) find(key uint64, by asker, at time.Time) (Owner, time.Duration) {
	i, ok := r.index[key]
	if !ok {
		return Nobody, 0
	}
	m := &r.list[i]
	return r.ownerOf(m, by, at), at.Sub(m.at)
}

// ownerOf is ownerFor, where users often get the same to one request: then what one
// got is no more that user's than another's.
func (r *ring) ownerOf(m *given, by asker, at time.Time) Owner {
	is := m.ownerFor(by, at)
	if is == AnotherCaller && r.came >= leastCame && 10*r.common > r.came {
		return SameRequest
	}
	return is
}

func (m *given) ownerFor(by asker, at time.Time) Owner {
	switch {
	case m.many || at.Sub(m.at).Abs() > ownersAge:
		return Nobody
	case m.by.request != by.request:
		return AnotherRequest
	case m.by.caller != by.caller && !m.all:
		return AnotherCaller
	}
	return SameRequest
}

// Wish is a value of the candidate of which it is not known yet whose it is: the
// request that it belongs to may still be under way.
type Wish struct {
	by asker
	at time.Time
	// Is is set once the monolith gives the value to somebody.
	Is Owner
}

// Remember takes what the monolith gave in one exchange: its whole body always,
// and the values in it now and then.
func (o *Memory) Remember(x *whittle.Exchange) {
	a := &x.Monolith
	if a.Failure != whittle.NoFailure || a.Truncated || len(a.Body) < leastBody {
		return
	}
	by := askerOf(x)
	o.seen++
	o.put(&o.bodies, o.bodyKey(a.Body), by, x.At, bodiesMost)
	if o.seen%valuesEvery != 0 && x.At.Sub(o.lastValues) < valuesPause {
		return
	}
	o.lastValues = x.At
	if o.doc.Scan(a.Body) != jsondoc.Scanned {
		return
	}
	taken := 0
	for i := range o.doc.Nodes {
		if text := o.doc.Text(uint32(i)); distinctive(o.doc.Nodes[i].Kind, text) {
			o.put(&o.values, Hash(text), by, x.At, valuesMost)
			if taken++; taken == valuesTaken {
				return
			}
		}
	}
}

func (o *Memory) put(r *ring, key uint64, by asker, at time.Time, most int) {
	r.put(key, by, at, most)
	for _, w := range o.wanted[key] {
		m := given{by: by, at: at}
		if is := r.ownerOf(&m, w.by, w.at); w.Is == Nobody && w.by != by && is != SameRequest {
			w.Is = is
		}
	}
}

// find says whom the monolith gave a whole body to, if it is not the present
// exchange's own, and how long ago.
func (o *Memory) find(x *whittle.Exchange, body []byte) (Owner, time.Duration) {
	if len(body) < leastBody {
		return Nobody, 0
	}
	return o.bodies.find(o.bodyKey(body), askerOf(x), x.At)
}

// findValue is find for a JSON value as it is written.
func (o *Memory) findValue(by asker, at time.Time, value []byte) (Owner, time.Duration) {
	if kind, ok := jsondoc.KindOf(value); !ok || !distinctive(kind, value) {
		return Nobody, 0
	}
	return o.values.find(Hash(value), by, at)
}

// await lets w know whose the value or body of a key is, should the monolith give it to
// somebody before wantedMost further ones are waited for.
func (o *Memory) await(w *Wish, key uint64) {
	if o.wanted == nil {
		o.wanted = map[uint64][]*Wish{}
	}
	if len(o.waiting) == wantedMost {
		old := o.waiting[0]
		o.waiting = append(o.waiting[:0], o.waiting[1:]...)
		if list := o.wanted[old]; len(list) > 1 {
			o.wanted[old] = list[1:]
		} else {
			delete(o.wanted, old)
		}
	}
	o.wanted[key], o.waiting = append(o.wanted[key], w), append(o.waiting, key)
}

// Hash is what is remembered of a value; it differs from process to process.
func Hash(b []byte) uint64 { return maphash.Bytes(seedOfOthers, b) }

// distinctive reports whether a value is unlikely to be given to two requests by
// chance: a string of some characters, a number of some digits that is not a round one, or a list that is not empty.
func distinctive(kind jsondoc.Kind, text []byte) bool {
	switch kind {
	case jsondoc.String:
		return len(text) >= leastText+2
	case jsondoc.Number:
		digits := 0
		for _, c := range text {
			digits += int(eprocess.Indicator(c >= '0' && c <= '9'))
		}
		return digits >= leastDigits && !roundNumber(text)
	case jsondoc.Array:
		return len(text) >= 2*leastBody
	}
	return false
}

// roundNumber reports whether all digits after the first are zeros: 1000, 50000.
func roundNumber(text []byte) bool {
	seen := false
	for _, c := range text {
		if c < '0' || c > '9' {
			continue
		}
		if seen && c != '0' {
			return false
		}
		seen = seen || c != '0'
	}
	return true
}

// Whose says whom the candidate's body, or else its value at one place, belongs to.
// Where nobody got it yet, w says later.
func (o *Memory) Whose(x *whittle.Exchange, value []byte, inJSON bool) (is Owner, w *Wish) {
	by := askerOf(x)
	w = &Wish{by: by, at: x.At}
	waits := false
	if body := x.Candidate.Body; len(body) >= leastBody && o.bodies.distinctive() {
		if is, _ = o.find(x, body); is != Nobody {
			return is, nil
		}
		o.await(w, o.bodyKey(body))
		waits = true
	}
	if kind, ok := jsondoc.KindOf(value); inJSON && ok && distinctive(kind, value) && o.values.distinctive() {
		if is, _ = o.findValue(by, x.At, value); is != Nobody {
			return is, nil
		}
		o.await(w, Hash(value))
		waits = true
	}
	if !waits {
		return Nobody, nil
	}
	return Nobody, w
}

package cause

import (
	"hash/maphash"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
)

// seed makes the hashes of one process. They are never kept, so nobody can try values against them.
var seed = maphash.MakeSeed()

// Hash is what is remembered of a value; it differs from process to process.
func Hash(b []byte) uint64 { return maphash.Bytes(seed, b) }

// Owners remembers which bodies the monolith returned to which request of late, so that a response
// that belongs to another request is distinguished from one that is wrong otherwise. It stores
// hashes only, of at most twice digest.Remembered bodies, and never on disk. The zero value is ready.
type Owners struct {
	young, old map[uint64]given
	json       jsondiff.Differ // scratch
}

// distinctive is how many bytes a body has at least that is taken for one request's own: of words such
// as "ok" or {} either side may have said them by itself.
const distinctive = 8

// given is what is known of a body: who got it last.
type given struct {
	request, user uint64
	many          bool // several requests got it
	shared        bool // several users got it for this request
}

// Remember takes what the monolith gave in one exchange.
func (o *Owners) Remember(x *whittle.Exchange) {
	a := &x.Monolith
	if a.Failure != whittle.NoFailure || a.Truncated || len(a.Body) == 0 {
		return
	}
	key, now := o.key(a.Body), askedIn(x)
	if was, known := o.find(key); known {
		now.many = was.many || was.request != now.request
		now.shared = was.shared || was.user != now.user
	}
	if o.young == nil || len(o.young) >= digest.Remembered {
		o.young, o.old = map[uint64]given{}, o.young
	}
	o.young[key] = now
}

// Whose is the cause of a candidate's body that the monolith gave before, to one request alone; false:
// it gave it to nobody, or to several requests.
func (o *Owners) Whose(x *whittle.Exchange) (Cause, bool) {
	was, known := o.find(o.key(x.Candidate.Body))
	now := askedIn(x)
	switch {
	case !known || was.many || len(x.Candidate.Body) < distinctive:
		return Cause{}, false
	case was.request != now.request:
		return Cause{kind: otherRequest}, true
	case was.user != now.user && !was.shared:
		return Cause{kind: otherUser}, true
	}
	return Cause{kind: stale}, true
}

// IsAnothers reports whether the monolith gave the candidate's body to another request or user alone.
func (o *Owners) IsAnothers(x *whittle.Exchange) bool {
	c, known := o.Whose(x)
	return known && c.kind != stale
}

func (o *Owners) find(key uint64) (was given, known bool) {
	if was, known = o.young[key]; !known {
		was, known = o.old[key]
	}
	return was, known
}

// key distinguishes whole bodies. Two JSON bodies have one key where they have the
// same members and values, however they are written: another implementation orders
// and spaces them otherwise. Others have one where they have the same bytes.
func (o *Owners) key(body []byte) uint64 {
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		if key, ok := o.json.Key(body); ok {
			return key
		}
	}
	return Hash(body)
}

// askedIn is who asked in an exchange: which request, and of which user.
func askedIn(x *whittle.Exchange) given {
	var h maphash.Hash
	h.SetSeed(seed)
	part := func(s string) { h.WriteString(s); h.WriteByte(0) }
	part(x.Request.Method)
	part(x.Request.Target)
	h.Write(x.Request.Body)
	g := given{request: h.Sum64()}
	h.Reset()
	part(x.Request.Header.Get("Authorization"))
	part(x.Request.Header.Get("Cookie"))
	g.user = digest.Mix(h.Sum64() ^ x.User)
	return g
}

package gateway

import (
	"fmt"
	"math/bits"
	"net/http"
	"net/textproto"
	"strings"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// split gives each user of a route a fixed sticky position between 0 and 1: a hash of
// the user's key and the route's name, or its group's. It is the same after a restart and on every
// replica. A user who is on the candidate at 5 % is still there at 25 %.
type split struct {
	by   whittle.Sticky
	salt uint64
}

// The purposes of a position. Each has its own hash, so that the mirrored sample is
// independent of the candidate's share.
const (
	forShare  uint64 = 0x9e3779b97f4a7c15
	forSample uint64 = 0xc2b2ae3d27d4eb4f
	forRecord uint64 = 0x165667b19e3779f9
)

// FNV-1a's parameters for 64 bits.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func newSplit(name string, s whittle.Sticky) split {
	s.Name = canonicalName(s)
	return split{by: s, salt: uint64(hashOf(fnvOffset, name))}
}

// canonicalName is the name of the header or cookie, as it is looked up.
func canonicalName(s whittle.Sticky) string {
	if s.By == "header" {
		return textproto.CanonicalMIMEHeaderKey(s.Name)
	}
	return s.Name
}

// position is a user's sticky position.
type position uint64

// placeOf hashes the request's key. For a request without the header or cookie it
// hashes the client's address, and keyed is false.
func (s *split) placeOf(r *inbound.Request) (p position, keyed bool) {
	if key := keyOf(r.Header, s.by); key != "" {
		return hashOf(s.salt, key), true
	}
	return hashOf(s.salt, r.Client()), s.by.By != "header" && s.by.By != "cookie"
}

// placeOfNew hashes the key that a response's header gives its user; false: it gives none. A
// cookie that is deleted is none.
func (s *split) placeOfNew(h http.Header) (p position, given bool) {
	if s.by.By != "cookie" {
		return 0, false
	}
	for _, line := range h["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); strings.TrimSpace(name) == s.by.Name && value != "" {
			p, given = hashOf(s.salt, value), true
		}
	}
	return p, given
}

// seeKey counts a user who had no sticky key, and whom the response's header gives one: the
// next request has another place than this one, which went by the address.
func (rt *route) seeKey(h http.Header, at position, share whittle.Share) {
	next, given := rt.split.placeOfNew(h)
	if !given {
		return
	}
	moved := next.in(share, forShare) != at.in(share, forShare)
	if moved {
		rt.counts.moved.Add(1)
	}
	if rt.counts.keysGiven.Add(1) == 1 {
		rt.env.g.log.Warn(keyWords(rt.spec.Rollout.Sticky.Name), "route", rt.name)
	}
}

// keyWords says what comes of a sticky key that users get by a response, and what mends it.
func keyWords(cookie string) string {
	return "users get the sticky key, the cookie " + cookie + ", by a response: until then they are placed by their address, and may change sides with the next request;" +
		" let sticky_by name what users bring with their first request, or write sticky_by: address"
}

func (rt *route) keyRemarks() []whittle.Remark {
	given := rt.counts.keysGiven.Load()
	if given == 0 {
		return nil
	}
	return []whittle.Remark{{Route: rt.name, Count: given, Text: fmt.Sprintf("%s; %d did", keyWords(rt.spec.Rollout.Sticky.Name), rt.counts.moved.Load())}}
}

// in reports whether the position lies within a share, by the purpose's hash.
func (p position) in(share whittle.Share, purpose uint64) bool {
	if share >= whittle.All {
		return true
	}
	slot, _ := bits.Mul64(mix(uint64(p)^purpose), uint64(whittle.All))
	return slot < uint64(share)
}

// evenly reports whether the n-th of many requests lies within a share. It takes
// multiples of the golden ratio, which spread any share evenly.
func evenly(n uint64, share whittle.Share) bool {
	slot, _ := bits.Mul64(n*forShare, uint64(whittle.All))
	return slot < uint64(share)
}

// firstChance is the probability that, of the users whose exchanges are compared, one
// has the candidate asked first. At most all users on the candidate are watched, and a
// sample of the others is mirrored.
func firstChance(share, sample whittle.Share) float64 {
	first := float64(share)
	return first / max(1, first+float64(whittle.All-share)*float64(sample)/float64(whittle.All))
}

// hashOf is FNV-1a from the given start: no allocation, and stable for ever,
// which a seeded hash of the runtime is not.
func hashOf(h uint64, key string) position {
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * fnvPrime
	}
	return position(h)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): FNV's high
// bits are too alike for keys that differ only at their end.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// keyOf is what tells the senders of requests apart: the value of a header, or of a cookie;
// "": there is none, or they are told apart by address. The name is canonical.
func keyOf(h http.Header, by whittle.Sticky) string {
	switch by.By {
	case "header":
		return whittle.Header(h).Get(by.Name)
	case "cookie":
		return cookieOf(h, by.Name)
	}
	return ""
}

// cookieOf finds a cookie's value without building the list that
// http.Request.Cookies allocates.
func cookieOf(h http.Header, name string) string {
	for _, line := range h["Cookie"] {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			k, v, ok := strings.Cut(strings.TrimLeft(part, " \t"), "=")
			if ok && k == name {
				return strings.Trim(strings.TrimRight(v, " \t"), `"`)
			}
		}
	}
	return ""
}

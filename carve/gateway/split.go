package gateway

import (
	"math/bits"
	"net/http"
	"net/textproto"
	"strings"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// split places a route's users between 0 and 1, once and for all: the place is
// a hash of the user's key and the route's name, so it is the same after a
// restart and on every replica, and a user who is on the candidate at 5 % is
// still there at 25 %.
type split struct {
	by   string
	name string
	salt uint64
}

// The purposes that a place serves. Each has its own hash, so that being in the
// mirrored sample says nothing about being in the candidate's share.
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

func newSplit(route string, s whittle.Sticky) split {
	name := s.Name
	if s.By == "header" {
		name = textproto.CanonicalMIMEHeaderKey(name)
	}
	return split{by: s.By, name: name, salt: uint64(hashOf(fnvOffset, route))}
}

// position is where a user stands.
type position uint64

// placeOf hashes the request's key. A request without the header or cookie is
// placed by the client's address instead, and keyed is false.
func (s *split) placeOf(r *inbound.Request) (p position, keyed bool) {
	key := ""
	switch s.by {
	case "header":
		if v := r.Header[s.name]; len(v) > 0 {
			key = v[0]
		}
	case "cookie":
		key = cookieOf(r.Header, s.name)
	default:
		return hashOf(s.salt, r.Client()), true
	}
	if key == "" {
		return hashOf(s.salt, r.Client()), false
	}
	return hashOf(s.salt, key), true
}

// in reports whether the place lies within the first share of the line that
// purpose draws.
func (p position) in(share whittle.Share, purpose uint64) bool {
	if share >= whittle.All {
		return true
	}
	slot, _ := bits.Mul64(mix(uint64(p)^purpose), uint64(whittle.All))
	return slot < uint64(share)
}

// evenly reports whether the n-th of many requests lies within a share: the
// multiples of the golden ratio, which spread any share without runs.
func evenly(n uint64, share whittle.Share) bool {
	slot, _ := bits.Mul64(n*forShare, uint64(whittle.All))
	return slot < uint64(share)
}

// firstChance is the chance that a user whose exchange is compared is one for whom
// the candidate is asked first: all of those are watched, at most, and of the
// others a sample is mirrored.
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

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
	if s.By == "header" { // as it is looked up
		s.Name = textproto.CanonicalMIMEHeaderKey(s.Name)
	}
	return split{by: s, salt: uint64(hashOf(fnvOffset, name))}
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

// setting is the share in force. It is the one that was applied under its
// generation, or 0 since the breaker has tripped.
type setting struct {
	share      whittle.Share
	phase      whittle.Phase
	generation uint64
	// tripped says that the share is 0 for the breaker's sake.
	tripped bool
}

// group has the routes that share their draw and their share: a user whom one of them sends to
// the candidate is sent there by all. Each route has a rollout of its own, and the least of
// their shares counts for all; so a fall or a trip of one takes the users of all back.
type group []*routeState

// group has the routes of each group know each other. A route that stays over a reload may
// have others from then on.
func (t *table) group() {
	groups := map[string]group{}
	for _, rt := range t.routes {
		if name := rt.spec.Group; name != "" {
			groups[name] = append(groups[name], rt.routeState)
		}
	}
	for _, rt := range t.routes {
		g := groups[rt.spec.Group]
		rt.group.Store(&g)
	}
}

// inForce is the setting that counts for a request: the route's own, with no larger share than
// that of any route of its group.
func (rt *route) inForce() *setting {
	own := rt.setting.Load()
	if least := rt.least(); least != nil {
		if share := least.setting.Load().share; share < own.share {
			lower := *own
			lower.share = share
			return &lower
		}
	}
	return own
}

// least is the route of the group with the least share; nil: the route is in none.
func (rt *route) least() (least *routeState) {
	g := rt.group.Load()
	if g == nil {
		return nil
	}
	for _, s := range *g {
		if least == nil || s.setting.Load().share < least.setting.Load().share {
			least = s
		}
	}
	return least
}

// groupRemarks say that the share of another route counts for this one.
func (rt *route) groupRemarks() []whittle.Remark {
	held := rt.counts.heldByGroup.Load()
	if held == 0 {
		return nil
	}
	text := fmt.Sprintf("the monolith served them, since the least share of the routes of group %s counts for all", rt.spec.Group)
	if least, own := rt.least(), rt.setting.Load().share; least != nil && least.setting.Load().share < own {
		text += fmt.Sprintf("; it is that of %s now, %v %%", least.name, least.setting.Load().share.Percent())
	}
	return []whittle.Remark{{Route: rt.name, Count: held, Text: text}}
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

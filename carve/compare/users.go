package compare

import (
	"encoding/json"
	"maps"
	"math/bits"
	"slices"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// usersMost bounds the users that are remembered.
const usersMost = 4096

// users bounds the share of the users whom nobody looked at. Users are what sticky
// routing draws, so a candidate that fails one of them in every response, such as
// a tenant with data of its own, is one user in so many, however many requests
// were compared.
//
// Two bounds hold, and the smaller one counts. With n users compared, k of whom
// met an unexplained difference: the upper bound of a share (eprocess.ShareBound). And of
// requests: the share that comes from users who were never compared. It only
// falls while more of them are; so it is at most the mean share of requests that
// came from a new user since some earlier moment, which has an upper bound of the
// same kind. The moments are the powers of two of the requests, the level of the
// j-th is alpha/(j(j+1)).
//
// More users than are remembered are thinned out by their hash, as novelty does.
type users struct {
	level int
	seen  map[uint64]bool // true: met an unexplained difference
	// anyBad says that some may have.
	anyBad bool
	// n requests of remembered users; fresh of them were the first of a user.
	// from holds both at the last powers of two.
	n, fresh int
	from     [2]userMark
}

type userMark struct {
	N     int `json:"n"`
	Fresh int `json:"fresh"`
	Index int `json:"index"`
}

func newUsers() users { return users{seen: map[uint64]bool{}} }

// see takes one compared request of a user. Those of whom nothing is known, 0,
// count as one.
func (u *users) see(user uint64, open bool) {
	h := digest.Mix(user ^ 0x7f4a7c15)
	if bits.TrailingZeros64(h) < u.level {
		return
	}
	u.n++
	if u.n&(u.n-1) == 0 {
		u.from = [2]userMark{{u.n, u.fresh, bits.Len(uint(u.n))}, u.from[0]}
	}
	if _, known := u.seen[h]; !known {
		u.fresh++
	}
	if open || !u.seen[h] {
		u.seen[h] = open
	}
	u.anyBad = u.anyBad || open
	for len(u.seen) > usersMost {
		u.level++
		maps.DeleteFunc(u.seen, func(h uint64, _ bool) bool { return bits.TrailingZeros64(h) < u.level })
	}
}

// forgive forgets who met differences, once all of them are explained.
func (u *users) forgive() {
	if !u.anyBad {
		return
	}
	u.anyBad = false
	for h := range u.seen {
		u.seen[h] = false
	}
}

// bound is the upper bound on the share of users, or of requests of users, that
// could be wrong without one having been seen; n is how many users it stands on.
func (u *users) bound(alpha float64) (high float64, n int) {
	bad := 0
	for _, open := range u.seen {
		bad += int(eprocess.Indicator(open))
	}
	high = eprocess.ShareBound(bad, len(u.seen), alpha/2)
	if m := u.from[1]; m.N > 0 && bad == 0 {
		j := float64(m.Index)
		high = min(high, eprocess.ShareBound(u.fresh-m.Fresh, u.n-m.N, alpha/2/(j*(j+1))))
	}
	return high, len(u.seen) << u.level
}

type keptUsers struct {
	Level int         `json:"level"`
	N     int         `json:"n"`
	Fresh int         `json:"fresh"`
	From  [2]userMark `json:"from"`
	Seen  []uint64    `json:"seen"`
	Bad   []uint64    `json:"bad"`
}

// MarshalJSON keeps the users' hashes, in order.
func (u *users) MarshalJSON() ([]byte, error) {
	k := keptUsers{Level: u.level, N: u.n, Fresh: u.fresh, From: u.from, Seen: slices.Sorted(maps.Keys(u.seen))}
	for _, h := range k.Seen {
		if u.seen[h] {
			k.Bad = append(k.Bad, h)
		}
	}
	return json.Marshal(&k)
}

// UnmarshalJSON restores what MarshalJSON kept; valid says whether it is possible.
func (u *users) UnmarshalJSON(b []byte) error {
	var k keptUsers
	if err := json.Unmarshal(b, &k); err != nil {
		return err
	}
	bad := func(h uint64) bool {
		_, found := slices.BinarySearch(k.Bad, h)
		return found
	}
	*u = users{level: k.Level, n: k.N, fresh: k.Fresh, from: k.From, anyBad: len(k.Bad) > 0, seen: make(map[uint64]bool, min(len(k.Seen), usersMost))}
	for _, h := range k.Seen[:min(len(k.Seen), usersMost)] {
		u.seen[h] = bad(h)
	}
	return nil
}

func (u *users) valid() bool {
	return u.level >= 0 && u.level < 64 && eprocess.UpTo(u.fresh, u.n) && eprocess.UpTo(u.from[0].N, u.n) && eprocess.UpTo(u.from[1].N, u.n) &&
		eprocess.UpTo(u.from[0].Fresh, u.fresh) && eprocess.UpTo(u.from[1].Fresh, u.fresh) && u.from[0].Index >= 0 && u.from[1].Index >= 0
}

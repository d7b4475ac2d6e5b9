package compare

import (
	"maps"
	"math/bits"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// users bounds the share of the users whom nobody looked at. Sticky routing draws users, so a
// candidate that fails one tenant in every response is wrong for one user in so many, however many
// requests were compared.
//
// Two bounds hold, and the smaller one counts. Of users: with n compared, k of whom met an unexplained
// difference, the upper bound of a share (eprocess.Share). Of requests: the share that comes from users
// who were never compared. That share falls as more users are compared. So it is at most its mean since an
// earlier moment, which is the share of requests since then that came from new users, and has an upper bound.
// The moments are the powers of two of the requests; the j-th has the level alpha/(j(j+1)).
//
// What is more than is remembered is thinned out by hash, each bit halving it (Wegman; Flajolet 1990).
type users struct {
	Level int             `json:"level"`
	Seen  map[uint64]bool `json:"seen"` // true: met an unexplained difference
	Open  int             `json:"open"` // how many of them did
	// Requests are those of remembered users; the event is a user's first. From holds them at the last
	// powers of two.
	Requests eprocess.Share    `json:"requests"`
	From     [2]eprocess.Share `json:"from"`
}

func newUsers() users { return users{Seen: map[uint64]bool{}} }

// see takes one compared request of a user. All unknown users, 0, count as one.
func (u *users) see(user uint64, open bool) {
	h := digest.Mix(user ^ 0x7f4a7c15)
	if bits.TrailingZeros64(h) < u.Level {
		return
	}
	_, known := u.Seen[h]
	if n := u.Requests.N + 1; n&(n-1) == 0 {
		u.From = [2]eprocess.Share{{N: n, Differing: u.Requests.Differing}, u.From[0]}
	}
	u.Requests.See(!known)
	if was := u.Seen[h]; !was {
		u.Seen[h] = open
		if open {
			u.Open++
		}
	}
	for len(u.Seen) > digest.Remembered {
		u.Level++
		maps.DeleteFunc(u.Seen, func(h uint64, open bool) bool {
			thinned := bits.TrailingZeros64(h) < u.Level
			if thinned && open {
				u.Open--
			}
			return thinned
		})
	}
}

// bound is the upper bound on the share of users, or of their requests, that could be wrong unseen; n is
// how many users it stands on. Once all differences are explained, it forgets who met one.
func (u *users) bound(alpha float64, explained bool) (high float64, n int) {
	if explained && u.Open > 0 {
		for h := range u.Seen {
			u.Seen[h] = false
		}
		u.Open = 0
	}
	high = eprocess.Share{N: len(u.Seen), Differing: u.Open}.High(alpha / 2)
	if m := u.From[1]; m.N > 0 && u.Open == 0 {
		since := eprocess.Share{N: u.Requests.N - m.N, Differing: u.Requests.Differing - m.Differing}
		high = min(high, since.High(eprocess.OfNth(alpha/2, bits.Len(uint(m.N)))))
	}
	return high, len(u.Seen) << u.Level
}

// seconds counts the seconds with a compared exchange. Exchanges of one second have much in common: the
// data, the load, a fault that comes and goes. A fault that returns at least every n seconds has shown
// itself once n seconds were counted, with the probability that one exchange meets it.
type seconds struct {
	N    int       `json:"n"`
	Last time.Time `json:"last"`
}

// see takes an exchange. An older one than the last says nothing new.
func (s *seconds) see(at time.Time) {
	if now := at.Truncate(time.Second); now.After(s.Last) {
		s.N++
		s.Last = now
	}
}

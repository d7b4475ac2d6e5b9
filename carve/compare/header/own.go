package header

import (
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
)

// A header in which each server says what it holds for a while, until it is refreshed (a
// snapshot's id, a notice, the state of a cache), differs for as long between two equal
// services, and not between two responses of one: bets that take these for exchangeable win
// on it. It is told from a wrong value by the moves: both sides' come in spells, and now the
// one's moves and now the other's. What never moves on one side is none, nor what moves on
// both at a time, as data do. Such a header is no finding, and what was won with it is void;
// that the candidate differs in it more often than the monolith from itself stays open
// (NoiseBound).

// Bounds of held.
const (
	heldMoves    = 3 // of either side without the other's, at least
	heldTogether = 4 // times as many may have moved together
	heldNear     = 2 // exchanges within which moves are together
	// Of three words that are none of heldAgo exchanges before, two may be none of the last
	// exchange's, and heldMore more by chance.
	heldAgo, heldMore = 32, 8
	// Until heldWatched moves were seen, one side may hold what it says: of two servers that
	// are alike, the same one moves each time with a chance of 2^-11. In spells a side says
	// another word in one of heldSpell exchanges at most.
	heldWatched, heldSpell = 12, 8
	// heldEarly is how long a header that is the same for all requests is watched before it
	// is taken for one that does not move, as with the fields of a body.
	heldEarly = time.Minute
)

// spoken is what a side says in one header, in one exchange after the other.
type spoken struct {
	ago          [heldAgo]digest.Hash
	n            int
	newer, older int // words that were none of the last exchange's, and none of one heldAgo before
	moved        int // the exchange of the last move that the other side has not made
}

func (s *spoken) see(word string) (moved bool) {
	var h digest.Hash
	h.Text(word)
	early, last := &s.ago[s.n%heldAgo], s.ago[(s.n+heldAgo-1)%heldAgo]
	if s.n > 0 && h != last {
		moved = true
		s.newer++
	}
	if s.n >= heldAgo && h != *early {
		s.older++
	}
	*early = h
	s.n++
	return moved
}

// spells reports whether the words come in spells: of words that follow from the request or
// are drawn for each, the last exchange's differs as often as one of long ago, however few
// different ones there are.
func (s *spoken) spells() bool { return 3*(s.newer+heldMore) < 2*s.older }

// held says whether each server holds its own of a header. It is learned anew in each
// process.
type held struct {
	n            int
	side         [2]spoken
	alone        [2]int
	both         int
	own          bool
	since, until time.Time
}

// isOpen reports whether each server may hold its own and too little was seen of how it moves.
// brief says that the header may be of a state that lasts, of which no move was seen yet.
func (d *held) isOpen(brief bool) bool {
	moved, alone := d.alone[0]+d.alone[1]+d.both, d.alone[0]+d.alone[1]
	switch least := min(d.alone[0], d.alone[1]); {
	case heldSpell*(d.side[0].newer+d.side[1].newer) > 2*d.n:
		return false
	case moved >= heldWatched:
		return least > 0 && heldTogether*least >= d.both
	case alone > 0:
		return true
	}
	watched := d.until.Sub(d.since)
	return brief && d.both < heldMoves && watched > 0 && watched < heldEarly
}

// at takes note of when the header was looked at.
func (d *held) at(now time.Time) {
	if d.since.IsZero() || now.Before(d.since) {
		d.since = now
	}
	d.until = now
}

// policies are the beginnings of names of headers that say what a response is or how it may be
// used, and no state of a server.
var policies = []string{
	"Accept-Ranges", "Access-Control-", "Allow", "Cache-Control", "Content-", "Cross-Origin-", "Etag", "Expires", "Last-Modified", "Link",
	"Location", "Permissions-Policy", "Pragma", "Referrer-Policy", "Set-Cookie", "Strict-Transport-Security", "Timing-Allow-Origin",
	"Trailer", "Vary", "Via", "Www-Authenticate", "X-Content-Type-Options", "X-Dns-Prefetch-Control", "X-Frame-Options", "X-Powered-By",
	"X-Robots-Tag", "X-Xss-Protection",
}

// mayBeOwn reports whether a difference in a header may be a state that each server holds, and
// moves by itself, of which too little was seen.
func (h *Headers) mayBeOwn(c *Change) bool {
	n := h.find(c.Path)
	if !h.withNoise || n == nil || n.held.own {
		return false
	}
	d := &n.held
	if c.Way == headerThere {
		d = &n.there
	}
	return d.isOpen(!slices.ContainsFunc(policies, func(p string) bool { return strings.HasPrefix(c.Path, p) }))
}

// see takes what the two sides say, and reports whether it shows for the first time that
// each holds its own.
func (d *held) see(words [2]string) bool {
	d.n++
	for side, word := range words {
		if !d.side[side].see(word) {
			continue
		}
		if other := &d.side[1-side]; other.moved > 0 && d.n-other.moved <= heldNear {
			d.both++
			d.alone[1-side]--
			other.moved = 0
			continue
		}
		d.alone[side]++
		d.side[side].moved = d.n
	}
	least := min(d.alone[0], d.alone[1])
	if d.own || least < heldMoves || heldTogether*least < d.both || !d.side[0].spells() || !d.side[1].spells() {
		return false
	}
	d.own = true
	return true
}

// watch follows the headers that have differed.
func (h *Headers) watch(x *whittle.Exchange) {
	if !h.withNoise {
		return
	}
	for i := range h.Names {
		n := &h.Names[i]
		if n.Name == OtherHeaders || !slices.ContainsFunc(n.Ways[:], func(w headerWay) bool { return w.Candidate > 0 }) {
			continue
		}
		from, to := h.words(n.Name, x, &x.Candidate)
		n.held.at(x.At)
		n.there.at(x.At)
		n.there.see([2]string{presence(from), presence(to)})
		if n.held.see([2]string{from, to}) {
			h.disown(n)
		}
	}
}

// presence is a word with nothing but whether there is one.
func presence(word string) string {
	if word == absent {
		return absent
	}
	return "there"
}

// disown takes back what was won where a header turns out to be each server's own.
func (h *Headers) disown(n *headerName) {
	h.owned++
	h.values.Own(n.Name)
	for way := range n.Ways {
		h.mark(n, headerHow(way))
		h.noise.learn(n.Name, headerHow(way))
	}
	for _, t := range []*headerHead{&h.Presence, &h.Text} {
		t.Same.Void()
		t.Self.Void()
	}
	h.excuse()
}

// Owned is how many headers turned out to be each server's own.
func (h *Headers) Owned() int { return h.owned }

// isOwn reports whether a header is.
func (h *Headers) isOwn(name string) bool {
	n := h.find(name)
	return n != nil && n.held.own
}

// countOwn counts the differences in headers that are each server's own, and leaves the
// others.
func (h *Headers) countOwn(list []Pair, candidate, repeated bool) []Pair {
	return slices.DeleteFunc(list, func(p Pair) bool {
		n := h.find(p.Path)
		if n == nil || !n.held.own {
			return false
		}
		if !candidate {
			n.Ways[p.way].seeSelf(&p)
		} else if p.Reason == "" {
			n.Ways[p.way].see(&p, repeated)
		}
		return true
	})
}

// constantLeast is in how many exchanges a header must have been the same to be called so.
const constantLeast = 20

// isConstant reports whether both sides said one and the same in every exchange since they
// first differed, in a header that no standard gives a meaning.
func (h *Headers) isConstant(c *Change) bool {
	n := h.find(c.Path)
	return n != nil && strings.HasPrefix(c.Path, "X-") && c.Way != headerThere &&
		n.held.n >= constantLeast && n.held.side[0].newer+n.held.side[1].newer == 0
}

// exceptWords say how a header is left out.
func exceptWords(name string) string {
	return "compare.headers: {except: [" + headerOf(name) + "]} leaves it out"
}

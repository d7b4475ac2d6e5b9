package header

import (
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/own"
)

// A header in which each server says what it holds for a while, until it is refreshed (a
// snapshot's id, a notice, the state of a cache), differs for as long between two equal
// services, and not between two responses of one: bets that take these for exchangeable win
// on it. It is told from a wrong value by the moves: both sides' come in spells, and now the
// one's moves and now the other's. What never moves on one side is none, nor what moves on
// both at a time, as data do. Such a header is no finding, and what was won with it is void;
// that the candidate differs in it more often than the monolith from itself stays open
// (NoiseBound).
const (
	ownNear = 2 // exchanges within which moves are together
	// Until ownWatched moves were seen, one side may hold what it says: of two servers that
	// are alike, the same one moves each time with a chance of 2^-11. A side that holds says
	// another word in one of ownSpell exchanges at most.
	ownWatched, ownSpell = 12, 4
)

// ownState says whether each server holds its own of a header. It is learned anew in each
// process.
type ownState struct {
	n     int
	side  [2]own.Holding
	moved [2]int // the exchange of each side's last move that the other has not made
	own.Counts
	own          bool
	since, until time.Time
}

// see takes what the two sides say, and reports whether it shows for the first time that
// each holds its own.
func (d *ownState) see(words [2]string) bool {
	d.n++
	for side, word := range words {
		var h digest.Hash
		h.Text(word)
		other := 1 - side
		switch {
		case !d.side[side].See(uint32(h)):
		case d.moved[other] > 0 && d.n-d.moved[other] <= ownNear:
			d.Both++
			d.Alone[other]--
			d.moved[other] = 0
		default:
			d.Alone[side]++
			d.moved[side] = d.n
		}
	}
	if d.own || !d.Parted() || !d.side[0].Moves() || !d.side[1].Moves() {
		return false
	}
	d.own = true
	return true
}

// isOpen reports whether each server may hold its own, and too little was seen of how it
// moves. brief says that the header may be of a state of which no move was seen yet.
func (d *ownState) isOpen(brief bool) bool {
	switch moved := d.Alone[0] + d.Alone[1] + d.Both; {
	case d.own:
		return true
	case d.draws(0), d.draws(1):
		return false
	case moved >= ownWatched:
		return d.Mixed()
	case moved > d.Both:
		return true
	}
	watched := d.until.Sub(d.since)
	return brief && d.Both < own.Least && watched > 0 && watched < own.Early
}

// draws reports whether a side says another word too often to hold what it says.
func (d *ownState) draws(side int) bool { return ownSpell*d.side[side].Newer > d.side[side].N }

// policies are the beginnings of names of headers that say what a response is or how it may be
// used, and no state of a server.
var policies = []string{
	"Accept-Ranges", "Access-Control-", "Allow", "Cache-Control", "Content-", "Cross-Origin-", "Etag", "Expires",
	"Last-Modified", "Link", "Location", "Permissions-Policy", "Pragma", "Referrer-Policy", "Set-Cookie",
	"Strict-Transport-Security", "Timing-Allow-Origin", "Trailer", "Vary", "Via", "Www-Authenticate",
	"X-Content-Type-Options", "X-Dns-Prefetch-Control", "X-Frame-Options", "X-Powered-By", "X-Robots-Tag",
	"X-Xss-Protection",
}

// mayBeOwn reports whether a difference in a header is, or may be, a state that each server
// holds, and moves by itself.
func (h *Headers) mayBeOwn(p *place) bool {
	d := h.own[wholeOf(p.Name)]
	if d == nil {
		return false
	}
	return d.isOpen(!slices.ContainsFunc(policies, func(s string) bool { return strings.HasPrefix(p.Name, s) }))
}

// isOwn reports whether a header is each server's own.
func (h *Headers) isOwn(name string) bool {
	d := h.own[wholeOf(name)]
	return d != nil && d.own
}

// OwnCount is how many headers turned out to be each server's own.
func (h *Headers) OwnCount() (n int) {
	for _, d := range h.own {
		if d.own {
			n++
		}
	}
	return n
}

// watch follows the headers that have differed.
func (h *Headers) watch(x *whittle.Exchange) {
	for i := range h.Places {
		name := h.Places[i].Name
		if d := h.own[name]; d == nil && name == wholeOf(name) && name != OtherHeaders {
			h.own[name] = &ownState{since: x.At}
		}
	}
	for name, d := range h.own {
		if x.At.Before(d.since) {
			d.since = x.At
		}
		d.until = x.At
		from, to := h.words(name, x, &x.Candidate)
		if d.see([2]string{from, to}) {
			h.markOwn(name)
		}
	}
}

// markOwn takes back what was won where a header turns out to be each server's own.
func (h *Headers) markOwn(name string) {
	h.values.MarkOwn(name)
	for i := range h.Places {
		if p := &h.Places[i]; wholeOf(p.Name) == name {
			p.Same.Void()
			p.Self.Void()
		}
	}
	for w := range ways {
		h.Noise[key(name, w)] = true
	}
}

// isConstant reports whether both sides said one and the same in every exchange since they
// first differed, in a header that no standard gives a meaning.
func (h *Headers) isConstant(p *place) bool {
	d := h.own[p.Name]
	return d != nil && strings.HasPrefix(p.Name, "X-") && p.Way != there && p.Count >= 20 && d.side[0].Newer+d.side[1].Newer == 0
}

// exceptWords say how a header is left out.
func exceptWords(path string) string {
	name, _, _ := strings.Cut(path, " ") // of a piece, a cookie, a field of the trailer
	return "compare.headers: {except: [" + name + "]} leaves it out"
}

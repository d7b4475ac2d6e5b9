// Package cause guesses how the candidate's value derives from the monolith's: by a rounding mode, a
// time zone, a unit, another user's response. It counts the exchanges that each guess fits, and says how
// many. Words are made on demand.
package cause

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
)

// The bounds on a guess, held by TestNoCauseByChance and TestCausesOfRealBugs.
const (
	exchangesMost = 64 // exchanges looked at, which bounds what is kept
	fitsLeast     = 3  // exchanges that a cause must fit, and different values where it could by chance
	fitsShare     = 90 // percent of the exchanges that it must fit
)

// kind is a kind of cause. More specific ones come first, since where they fit the others fit too.
type kind uint8

const (
	otherRequest kind = iota
	otherUser
	stale
	listCut
	nothing
	letterCase
	zone
	shift
	binaryFloat
	textCut
	rounding
	factor
	offset
	oneValue
)

// kinds has each kind's words, with % for what an exchange says. A weak kind fits one pair of values by
// chance, so several different pairs must fit.
var kinds = [...]struct {
	words string
	weak  bool
}{
	otherRequest: {"the monolith gave this response to another request before", true},
	otherUser:    {"the monolith gave this response to another user before", true},
	stale:        {"the monolith gave this response to the same request some time before: it is stale", true},
	listCut:      {"the list ends early, always after % elements: a limit", false},
	nothing:      {"%", false},
	letterCase:   {"upper and lower case differ", false},
	zone:         {"the same instant in another time zone", false},
	shift:        {"times are shifted by % h: a time zone is applied twice, or not at all", true},
	binaryFloat:  {"the value went through a binary float on one side: its last digits", false},
	textCut:      {"the text is cut off after % characters", true},
	rounding:     {"the candidate %", true},
	factor:       {"the value is %: another unit", true},
	offset:       {"candidate minus monolith is %", true},
	oneValue:     {"the candidate gives one and the same value whatever the monolith gives", true},
}

// Cause is one guess. What it says holds no piece of a value, and a constant's hash only.
type Cause struct {
	kind kind
	says string
}

// OneValue is the cause of a candidate that always gives the same value.
func OneValue(hash uint64) Cause { return Cause{oneValue, strconv.FormatUint(hash, 16)} }

// Tally counts which causes fit the exchanges that show one difference. It holds hashes of possible
// secrets, so it is not kept over a restart; the next few differences bring it back.
type Tally struct {
	n    int // exchanges looked at
	fits map[Cause]int
	// pairs are hashes of the first different pairs of values.
	pairs []uint64
}

// Wants reports whether the next exchange is to be looked at.
func (t *Tally) Wants() bool { return t.n < exchangesMost }

// Add counts one exchange with the causes that fit it, each once. pair distinguishes pairs of values.
func (t *Tally) Add(list []Cause, pair uint64) {
	if t.fits == nil {
		t.fits = map[Cause]int{}
	}
	t.n++
	if !slices.Contains(t.pairs, pair) && len(t.pairs) < fitsLeast {
		t.pairs = append(t.pairs, pair)
	}
	for i, c := range list {
		if !slices.Contains(list[:i], c) {
			t.fits[c]++
		}
	}
}

// Words names the cause that fits nearly all of the exchanges, as a guess, with how many; empty where none
// does. Of causes that fit equally well it takes the first, and of one kind the one that says least.
func (t *Tally) Words() string {
	var best Cause
	most := 0
	for c, n := range t.fits {
		if kinds[c.kind].weak && len(t.pairs) < fitsLeast {
			continue
		}
		if n > most || n == most && cmp.Or(cmp.Compare(c.kind, best.kind), cmp.Compare(len(c.says), len(best.says)), cmp.Compare(c.says, best.says)) < 0 {
			best, most = c, n
		}
	}
	if most < fitsLeast || 100*most < fitsShare*t.n {
		return ""
	}
	return "a guess: " + strings.Replace(kinds[best.kind].words, "%", best.says, 1) + " (fits " + display.Of(most, t.n) + ")"
}

// IsOne reports whether it was always the same value against the same other one.
func (t *Tally) IsOne() bool { return t.n >= exchangesMost/4 && len(t.pairs) == 1 }

// seed makes the hashes of one process. It is never kept, so nobody can try values against them.
var seed = maphash.MakeSeed()

// Hash is what is remembered of a value. It differs between processes.
func Hash(b []byte) uint64 { return maphash.Bytes(seed, b) }

// Owners remembers which bodies the monolith lately gave to which request, to tell a response that
// belongs to another request from one that is wrong otherwise. It stores only hashes, of at most twice
// digest.Remembered bodies, and never on disk. The zero value is ready.
type Owners struct {
	young, old map[uint64]given
	json       jsondiff.Differ // scratch
}

// distinctive is the least length in bytes of a body taken for one request's own. Either side may have
// said words such as "ok" or {} by itself.
const distinctive = 8

// given is who got a body last.
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

// Whose is the cause of a candidate's body that the monolith gave before to one request alone; false
// where it gave it to none or several.
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

// key distinguishes whole bodies. JSON bodies with the same members and values have one key, since
// another implementation orders and spaces them differently. Others are told apart by their bytes.
func (o *Owners) key(body []byte) uint64 {
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		if key, ok := o.json.Key(body); ok {
			return key
		}
	}
	return Hash(body)
}

// askedIn is which request an exchange is of, and which user's.
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

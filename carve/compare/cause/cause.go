// Package cause explains how the candidate's value derives from the monolith's: by a
// rounding mode, a time zone, another order, text cut off. It guesses, counts in how
// many exchanges each guess fits, and says so.
package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whittle/carve/compare/display"
	"whittle/carve/compare/owner"
	"whittle/internal/units"
)

// Bounds of what is counted of the causes of one difference.
const (
	causeAlways  = 64 // exchanges that are looked at all,
	causeEvery   = 16 // and then one in so many
	causeSets    = 24 // sets of causes that are distinguished
	causeLeast   = 3  // exchanges that make a cause,
	causeShare   = 90 // percent of them that the causes together must fit
	causeValues  = 3  // different values that make one that could fit by chance
	causeOnce    = 64 // causes with a constant of their own that fitted once
	causeWaiting = 32 // values that may yet turn out to be another request's
	causeRead    = 4 << 10
	setMost      = 400
)

// A cause is written as a key, such as "round:half even:2" or "shift:3600", so
// that it can be counted and kept; no key has a piece of a value in it. The causes
// of one pair of values are the keys of everything that turns the first into the
// second.

// Tally counts which causes fit the exchanges that show one difference. It is
// not kept over a restart, as it has hashes of what may be secret; the next few
// differences bring it back.
type Tally struct {
	// n exchanges were looked at; seen counts those that were not, too.
	n, seen int
	// sets are the causes that fit together, joined by "|", with their exchanges.
	sets map[string]int
	// pairs are hashes of the first causeValues different pairs of values.
	pairs   []uint64
	waiting []waitingCause
	// once has the causes with a constant of their own (an offset) that fitted one
	// exchange so far, with the set of that one.
	once map[string]string
}

// waitingCause is a value of which it may yet turn out whose it is.
type waitingCause struct {
	set  string
	wish *owner.Wish
}

// Wants reports whether the next exchange is to be looked at, and counts it.
func (t *Tally) Wants() bool {
	t.seen++
	return t.seen <= causeAlways || t.seen%causeEvery == 0
}

// Add counts one exchange with the causes that fit it. pair distinguishes pairs of values
// apart.
func (t *Tally) Add(keys []string, pair uint64) (set string) {
	t.n++
	if !slices.Contains(t.pairs, pair) && len(t.pairs) < causeValues {
		t.pairs = append(t.pairs, pair)
	}
	slices.Sort(keys)
	keys, first := t.sorted(slices.Compact(keys))
	set = t.count(strings.Join(keys, "|"), 1)
	for _, k := range first {
		if t.once == nil || len(t.once) >= causeOnce {
			t.once = map[string]string{}
		}
		t.once[k] = set
	}
	return set
}

// sorted takes out the causes with a constant of their own that are new, which are
// counted once they fit a second exchange, and then the first one as well.
func (t *Tally) sorted(keys []string) (kept, first []string) {
	earlier := map[string][]string{}
	for _, k := range keys {
		set, seen := t.once[k]
		switch c, _ := causeOf(k); {
		case seen:
			earlier[set] = append(earlier[set], k)
			delete(t.once, k)
		case c.own && !t.inSets(k):
			first = append(first, k)
			continue
		}
		kept = append(kept, k)
	}
	for set, again := range earlier {
		t.move(set, again...)
	}
	return kept, first
}

// inSets reports whether a cause is counted.
func (t *Tally) inSets(key string) bool {
	for set := range t.sets {
		if slices.Contains(strings.Split(set, "|"), key) {
			return true
		}
	}
	return false
}

// move adds causes to one exchange of a set.
func (t *Tally) move(set string, more ...string) {
	if t.sets[set] == 0 {
		return
	}
	if t.sets[set]--; t.sets[set] == 0 {
		delete(t.sets, set)
	}
	if set != "" {
		more = append(more, strings.Split(set, "|")...)
	}
	slices.Sort(more)
	t.count(strings.Join(more, "|"), 1)
}

func (t *Tally) count(set string, n int) string {
	if t.sets == nil {
		t.sets = map[string]int{}
	}
	if _, known := t.sets[set]; !known && (len(t.sets) >= causeSets || len(set) > setMost) {
		set = ""
	}
	t.sets[set] += n
	return set
}

// Await keeps an exchange whose value may belong to a request that is under way.
func (t *Tally) Await(set string, w *owner.Wish) {
	if len(t.waiting) == causeWaiting {
		t.waiting = append(t.waiting[:0], t.waiting[1:]...)
	}
	t.waiting = append(t.waiting, waitingCause{set, w})
}

// settle counts what has turned out to belong to another request.
func (t *Tally) settle() {
	t.waiting = slices.DeleteFunc(t.waiting, func(w waitingCause) bool {
		key := ownerKeys[w.wish.Is]
		if key == "" {
			return false
		}
		t.move(w.set, key)
		return true
	})
}

// Words names what fits nearly all of the exchanges, one cause after the other,
// each with how many it fits; empty where nothing does. It is a guess and says so.
func (t *Tally) Words() string {
	t.settle()
	left := map[string]int{}
	for set, n := range t.sets {
		if n > 0 {
			left[set] = n
		}
	}
	var words []string
	fitted := 0
	for len(words) < namedMost {
		keys, n := t.best(left)
		if n < causeLeast || 10*n < t.n {
			break
		}
		if c, _ := causeOf(keys[0]); c.weak && 4*n < t.n {
			break
		}
		words = append(words, fmt.Sprintf("%s (fits %s)", inWords(keys), display.Of(n, t.n)))
		fitted += n
		for set := range left {
			if slices.Contains(strings.Split(set, "|"), keys[0]) {
				delete(left, set)
			}
		}
	}
	if len(words) == 0 || 100*fitted < causeShare*t.n {
		return ""
	}
	return "a guess: " + strings.Join(words, "; ")
}

// best gives the causes that fit most of what is left: one, or several that say
// nearly the same and cannot be distinguished by what was seen.
func (t *Tally) best(left map[string]int) (keys []string, most int) {
	fits := map[string]int{}
	for set, n := range left {
		for key := range strings.SplitSeq(set, "|") {
			if c, ok := causeOf(key); ok && (!c.weak || len(t.pairs) >= causeValues) {
				fits[key] += n
			}
		}
	}
	for key, n := range fits {
		if c, _ := causeOf(key); c.alone && 100*n < causeShare*t.n {
			delete(fits, key)
			continue
		}
		most = max(most, n)
	}
	for key, n := range fits {
		if n == most {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, 0
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(rankOfCause(a)-rankOfCause(b), cmp.Compare(a, b)) })
	kind, _, _ := strings.Cut(keys[0], ":")
	alike := slices.DeleteFunc(keys, func(k string) bool { other, _, _ := strings.Cut(k, ":"); return other != kind })
	return alike, most
}

// cause is one kind of key.
type cause struct {
	// words are the cause in words, with the key's arguments in the place of %s.
	words string
	// weak says that one pair of values may fit by chance, so that several
	// different ones have to.
	weak bool
	// alone says that it has to fit nearly all by itself.
	alone bool
	// own says that its keys have a constant of their own, so that those that fit
	// one exchange only are many.
	own  bool
	rank int
}

// causeOf is the kind of a key, which is what stands before the first colon.
func causeOf(key string) (c cause, ok bool) {
	kind, _, _ := strings.Cut(key, ":")
	c, ok = causesKnown[kind]
	return c, ok
}

func rankOfCause(key string) int {
	c, _ := causeOf(key)
	return c.rank
}

// inWords says causes that are alike in one phrase.
func inWords(keys []string) string {
	kind, rest, _ := strings.Cut(keys[0], ":")
	if kind == "round" {
		return roundingWords(keys)
	}
	c, _ := causeOf(keys[0])
	args := strings.Split(rest, ":")
	switch kind {
	case "shift":
		seconds, _ := strconv.Atoi(args[0])
		return fmt.Sprintf(c.words, hours(seconds))
	case "offset", "factor", "divided", "whole division":
		return fmt.Sprintf(c.words, grouping(args[0]))
	}
	words := c.words
	for _, arg := range args {
		words = strings.Replace(words, "%s", arg, 1)
	}
	return words
}

// grouping writes a whole number with commas and leaves the rest alone.
func grouping(s string) string {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return units.Grouped(n)
	}
	return s
}

// hours writes a shift: +2 h, -5:30 h.
func hours(seconds int) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	if seconds%3600 == 0 {
		return fmt.Sprintf("%s%d h", sign, seconds/3600)
	}
	return fmt.Sprintf("%s%d:%02d h", sign, seconds/3600, seconds%3600/60)
}

// OfOwner is the cause of a value that the monolith gave elsewhere; empty: none.
func OfOwner(is owner.Owner) string { return ownerKeys[is] }

// ownerKeys are the causes of a value that the monolith gave elsewhere.
var ownerKeys = map[owner.Owner]string{
	owner.AnotherRequest: "other request", owner.AnotherCaller: "other user", owner.SameRequest: "stale",
}

// namedMost bounds the causes that are named.
const namedMost = 3

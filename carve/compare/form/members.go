package form

import (
	"slices"
	"time"
)

// Of ids that come out of a set of few, one that the monolith has never said is unusual.

// Where data move, one side may read them first, so of a set and of pairs the monolith's own
// moves are waited for: from the first odd one on for watchLong, and each move begins anew.
const watchLong = time.Minute

// watch is since when a candidate has been odd, and whether for long.
type watch struct {
	Since moment `json:"t,omitempty"`
	Long  bool   `json:"long,omitempty"`
}

func (w *watch) see(at time.Time) {
	if w.Since == 0 {
		w.Since = momentOf(at)
	}
	w.Long = w.Long || w.Since.lies(watchLong, at)
}

// watchedFeatures are those that are watched: sets and pairs; and of numbers in a list whether
// one comes twice and in which order they are, since of two that wander the one is the larger
// for a while.
var watchedFeatures = [...]int{featMember, featPair, featTwice, featSorted}

func (p *formPath) isWatched(k int) bool {
	return k == featMember || k == featPair || (k == featTwice || k == featSorted) && p.amount
}

// Bounds of sets.
const (
	membersMost = 64 // values of a set
	// Of so many of the candidate's values one must be the monolith's for the two to draw
	// from one set: servers with ids of their own have none in common.
	membersShared = 4
)

// members are the values of the monolith's set.
type members struct {
	of   map[uint64]bool
	more bool // there are more than membersMost
}

// hasMembers reports whether values of a class may come out of a set.
func hasMembers(c formClass) bool {
	switch c {
	case classUUID, classULID, classDigits, classHex, classToken, classBase64, classBase64URL, classNumeral, classEmail, classAddress, classURL, classText:
		return true
	}
	return false
}

func (m *members) category(list []category, values []value) []category {
	if m.more {
		return list
	}
	for i := range values {
		v := &values[i]
		if v.hash == 0 || !hasMembers(v.form.class) {
			continue
		}
		c := either(!m.of[v.hash], "one of the monolith's", "one that the monolith has never said")
		if !slices.ContainsFunc(list, func(o category) bool { return o.code == c.code }) {
			list = append(list, c)
		}
	}
	return list
}

// see takes the monolith's values, and reports whether the set has grown.
func (m *members) see(values []value) (grew bool) {
	if m.more {
		return false
	}
	for i := range values {
		v := &values[i]
		if v.hash == 0 || !hasMembers(v.form.class) || m.of[v.hash] {
			continue
		}
		if m.of == nil {
			m.of = map[uint64]bool{}
		}
		grew = true
		if m.of[v.hash] = true; len(m.of) > membersMost {
			m.more, m.of = true, nil
			return true
		}
	}
	return grew
}

// isMember reports whether the values come out of a set that both sides draw from.
func (p *formPath) isMember() bool {
	t := &p.feature[featMember]
	return !p.members.more && t.C.N > 0 && 2*t.M.count(0) > t.M.N && p.sharesMembers()
}

// sharesMembers reports whether the candidate says values of the monolith's set as well.
func (p *formPath) sharesMembers() bool {
	t := &p.feature[featMember].C
	return membersShared*t.count(0) >= t.N
}

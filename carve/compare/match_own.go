package compare

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/noise"
)

// Given the monolith's first response, the candidate's and the monolith's second one are exchangeable,
// except where each server holds a moving state of its own (own): two responses of one server at one
// moment are nearer to each other than to another server's. Earlier responses of both sides tell such a
// state from a wrong candidate: those to the same request or, where the request does not matter, to any.

// watches reports whether the values at a mark may be a state of each server's own.
func (m *match) watches(k *mark) bool {
	return k.Expect < 0 && !k.Own && k.learnable() && !k.State.Often() && !m.forms.Replaces(k.noise())
}

// recall compares what both sides say in the present exchange with what they said before. The caller
// has asked watching.
func (m *match) recall(x *whittle.Exchange) {
	if !m.log { // a log has an end, so nobody waits for more of it
		for _, i := range m.cand {
			m.marks[i].State.Watch(x.At)
		}
	}
	now := saidIn(x)
	if before, ok := m.earlier.due(requestHash(&x.Request), now); ok {
		m.look(m.watches, m.cand, &before, &now)
	}
	now.user = 0 // where values are held, neither user nor request matters
	held := func(k *mark) bool { return k.holds.Moves() && m.watches(k) }
	if !slices.ContainsFunc(m.marks, held) {
		return
	}
	if before, ok := m.earlier.due(anyRequest, now); ok {
		m.look(held, m.cand, &before, &now)
	}
}

// asked does the same with the responses to a recheck.
func (m *match) asked(r *whittle.Recheck) {
	if !m.watching() {
		return
	}
	before := saidIn(r.Exchange)
	for i := range r.Rounds {
		round := &r.Rounds[i]
		now := said{round.Monolith.Body, round.Candidate.Body, before.user, r.Exchange.At.Add(round.After)}
		var differ []int
		for _, d := range m.diff(now.monolith, now.candidate) {
			if j, known := m.index[markKey{Path: d.Path, How: d.How, Expect: d.Expect}]; known {
				differ = append(differ, j)
			}
		}
		m.look(m.watches, differ, &before, &now)
		before = now
	}
}

// look takes in which sides' values moved at the watched marks. Where a side now equals the other one,
// it may have caught up with it, and has not moved by itself. Where both moved and it is another user's
// exchange, the values may depend on the user. The chance to show wrongly that no state of each server's
// own explains a difference is m.alpha in all.
func (m *match) look(watches func(*mark) bool, differ []int, before, now *said) {
	monolith := m.placesOf(before.monolith, now.monolith)
	candidate := m.placesOf(before.candidate, now.candidate)
	for i, k := range m.marks {
		a, b := monolith[k.Path], candidate[k.Path]
		if !watches(k) || a && b && before.user != now.user {
			continue
		}
		if k.State.Look(a); slices.Contains(differ, i) {
			k.State.Move(a, b, before.at, now.at, eprocess.OfNth(m.alpha, i+1))
		}
		if k.State.Own() {
			m.noise.LearnOwn(k.noise())
		}
	}
	m.tell()
}

// placesOf are the places at which two bodies differ.
func (m *match) placesOf(a, b []byte) map[string]bool {
	places := map[string]bool{}
	for _, d := range m.diff(a, b) {
		places[d.Path] = true
	}
	return places
}

// markOwn notes the marks at which each server turns out to hold a state of its own, where bets on
// exchangeable responses show nothing. EQUIVALENT still takes that noise explains how often the
// candidate differs there (noiseBound).
func (m *match) markOwn() {
	for _, k := range m.marks {
		if k.Direct != nil {
			k.Direct.Noisy = m.noise.Learnt[k.noise()]
		}
		if !k.Own && m.noise.Own[k.noise()] && k.Expect < 0 {
			k.Own = true
		}
	}
}

// isExplained reports whether the bets may have won on a state of each server's own. Where the monolith
// often varies, no bet counts.
func (k *mark) isExplained() bool { return k.State.Often() || k.isMoving() || k.isEarly() }

// isMoving reports whether what moves at a mark may be a state of each server's own.
func (k *mark) isMoving() bool { return k.State.Explains(k.holds.Holds()) }

// isEarly reports whether a mark is the same for all requests, and was not watched long enough to see a
// state of each server's own move. A policy is set once for all servers.
func (k *mark) isEarly() bool {
	return k.State.Brief() && k.holds.Holds() && (k.Direct == nil || !header.IsPolicy(header.NameOf(k.Path)))
}

// anyEarly reports whether one of these places was not watched long enough (isEarly).
func (m *match) anyEarly(places []string) bool {
	return slices.ContainsFunc(m.marks, func(k *mark) bool { return m.watches(k) && k.isEarly() && slices.Contains(places, k.Path) })
}

// isOpenState reports whether the bets on a mark would be shown if no server held a state of its own there.
func (k *mark) isOpenState() bool { return k.Pair.At > 0 && !k.Own && k.isExplained() }

// isUnsure reports whether the candidate differs at a mark more often, or at more places, than the
// monolith from itself, without being shown to be at fault.
func (m *match) isUnsure(k *mark) bool {
	c := m.changed(k)
	return k.Own && c.Beyond() > noise.Slack || k.isOpenState() || k.isFurther()
}

// unsureWords say why what isUnsure reports is not shown, and what settles it.
func (m *match) unsureWords(k *mark) string {
	settles := m.settles(k.Path)
	switch {
	case k.Own:
		return "both sides' values move, at different times, so each server seems to keep a state of its own, which says nothing about the candidate: " + settles
	case k.isEarly() && !k.State.Often() && !k.isMoving():
		return "each side gives the same value for many requests; a minute of traffic is needed to tell a wrong value from one that each server keeps for a while"
	case k.Self == 0:
		return "the monolith's value moves, and whether the candidate's moves with it, or each server holds a state of its own, is not known yet: " + settles
	}
	return "the monolith itself changes it, and the candidate does so more often or at more places: " +
		"nothing tells a fault from a state of its own that moves in each server: if it is one, " + settles + "; if not, the candidate's is wrong"
}

// settles says how to leave out a place whose values are each server's own.
func (m *match) settles(path string) string {
	if m.kind != whittle.FoundHeader {
		return "ignore the path, or give it a form"
	}
	name, _, _ := strings.Cut(header.NameOf(path), " ") // a cookie's
	return "compare.headers: {except: [" + name + "]} leaves it out"
}

// The bounds on what is remembered of earlier responses, of all requests together.
const (
	earlierRequests = 64
	earlierBytes    = 1 << 20
	// earlierKept is how long later responses are compared with one.
	earlierKept = 5 * time.Minute
	// earlierApart is the least time between two looks at a request's responses.
	earlierApart = 200 * time.Millisecond
)

// anyRequest stands for the last exchange, whatever its request.
const anyRequest = 0

// earlier remembers what both sides said to some requests, to compare it with what they say to the same
// requests later. It is learned anew in each process, and neither shown nor kept anywhere else.
type earlier struct {
	of    map[uint64]said
	bytes int
}

// said is what both sides said to a user.
type said struct {
	monolith, candidate []byte
	user                uint64
	at                  time.Time
}

func saidIn(x *whittle.Exchange) said {
	return said{x.Monolith.Body, x.Candidate.Body, x.User, x.At}
}

func (s *said) size() int { return len(s.monolith) + len(s.candidate) }

// due gives what was said to a request at least earlierApart ago, and remembers what is said now in its
// place. ok is false where nothing is remembered, or only something too old.
func (e *earlier) due(request uint64, now said) (before said, ok bool) {
	before, ok = e.of[request]
	age := now.at.Sub(before.at)
	if ok && age >= 0 && age < earlierApart {
		return before, false
	}
	e.forget(request)
	e.remember(request, now)
	return before, ok && age >= 0 && age <= earlierKept
}

// remember copies what both sides say, if there is room.
func (e *earlier) remember(request uint64, now said) {
	if len(e.of) >= earlierRequests {
		for k, s := range e.of {
			if now.at.Sub(s.at) > earlierKept {
				e.forget(k)
			}
		}
	}
	if len(e.of) >= earlierRequests && request != anyRequest || e.bytes+now.size() > earlierBytes {
		return
	}
	if e.of == nil {
		e.of = map[uint64]said{}
	}
	now.monolith, now.candidate = bytes.Clone(now.monolith), bytes.Clone(now.candidate)
	e.of[request] = now
	e.bytes += now.size()
}

func (e *earlier) forget(request uint64) {
	s := e.of[request]
	e.bytes -= s.size()
	delete(e.of, request)
}

// requestHash is the same for the same request.
func requestHash(q *whittle.Request) uint64 {
	h := digest.Hash(digest.FNV([]byte(q.Method)))
	h.Text(q.Target)
	h.Text(string(q.Body))
	return digest.Mix(uint64(h))
}

package compare

import (
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// That the candidate's response and the monolith's second one are exchangeable given the
// first breaks where each server holds a state of its own that moves (own): two responses of
// one server at one moment are nearer to each other then than to another server's. What both
// sides said to the same request at other times tells such a state from a candidate that is
// wrong.

// watched reports whether the values at a mark may be those of a state of each server's. Those
// of headers are watched by spells.
func (k *mark) watched() bool { return k.Expect < 0 && !k.Own && k.learnable() && k.Direct == nil }

// contested reports whether somebody has bet on a mark, so that it matters whether the
// values there move.
func (k *mark) contested() bool {
	return k.watched() && (k.Pair.Rounds > 0 || k.Further != nil)
}

// recall holds what both sides say against what they said to the same request before, at
// the marks of the present exchange.
func (m *match) recall(x *whittle.Exchange) {
	var list []int
	for _, i := range m.cand {
		if k := m.marks[i]; m.learn && k.watched() && !m.forms.Replaces(k.noise()) {
			k.drift.Watch(x.At, m.log)
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return
	}
	s := m.earlier.due(x)
	if s == nil {
		return
	}
	switch {
	case s.before == nil:
		s.before = m.earlier.bodies(x)
	case s.then == nil:
		m.look(list, s, x)
	default:
		m.lookAgain(list, s, x)
	}
}

// look counts which side's values have moved since neither had.
func (m *match) look(list []int, s *said, x *whittle.Exchange) {
	now := bodiesOf(x)
	steps := m.stepsBetween(s.before, now)
	moved, open := false, false
	for _, i := range list {
		k := m.marks[i]
		a, b := steps[form.Monolith][k.markKey], steps[form.Candidate][k.markKey]
		switch {
		case a.Times+b.Times == 0:
			k.drift.Moved.See(0)
		case a.Times > 0 && b.Times > 0 && s.before.user != now.user: // they may say it of the user
			open = true
		default:
			k.drift.Moved.See(min(1, a.Times))
			moved = true
		}
	}
	if moved {
		s.then = m.earlier.bodies(x)
	} else if !open {
		s.before.at = x.At
	}
}

// lookAgain counts what became of a move by the next look. Where the sides are alike then, one
// has caught up with the other, and has not moved by itself.
func (m *match) lookAgain(list []int, s *said, x *whittle.Exchange) {
	steps, back := m.stepsBetween(s.before, s.then), m.stepsBetween(s.before, bodiesOf(x))
	differed := m.stepsOf(s.then.monolith, s.then.candidate)
	for _, i := range list {
		k := m.marks[i]
		a, b := steps[form.Monolith][k.markKey], steps[form.Candidate][k.markKey]
		switch {
		case a.Times+b.Times == 0, differed[k.markKey].Times == 0:
		case a.Times > 0 && b.Times > 0 && s.before.user != s.then.user: // they may say it of the user
		case back[form.Monolith][k.markKey].Times+back[form.Candidate][k.markKey].Times == 0:
			k.drift.Returned++
		default:
			k.drift.Stayed++
			k.drift.Moves.See(a, b, s.before.at, s.then.at, m.stateAlpha(i))
		}
		m.tellOwn(k)
	}
	m.tell()
	m.earlier.settled(s)
}

// tellOwn takes note of a state that each server holds by itself.
func (m *match) tellOwn(k *mark) {
	if k.drift.Own() {
		m.noise.LearnOwn(k.noise())
	}
}

// asked counts which side's values had moved when both were asked again.
func (m *match) asked(r *whittle.Recheck) {
	x := r.Exchange
	was := bodiesOf(x)
	differed := m.stepsOf(was.monolith, was.candidate)
	if !m.learn || len(differed) == 0 {
		return
	}
	from := x.At
	for i := range r.Rounds {
		round := &r.Rounds[i]
		at := x.At.Add(round.After)
		steps := m.stepsBetween(was, &bodies{monolith: round.Monolith.Body, candidate: round.Candidate.Body})
		differ := m.stepsOf(round.Monolith.Body, round.Candidate.Body)
		for key := range differed {
			i, known := m.index[key]
			if !known || !m.marks[i].watched() {
				continue
			}
			k, a, b := m.marks[i], steps[form.Monolith][key], steps[form.Candidate][key]
			if round.After < time.Second {
				k.drift.AtOnce.See(min(1, a.Times))
			} else {
				k.drift.Moved.See(min(1, a.Times))
			}
			if a.Times+b.Times > 0 {
				if differ[key].Times > 0 {
					k.drift.Moves.See(a, b, from, at, m.stateAlpha(i))
				}
				m.tellOwn(k)
				delete(differed, key)
			}
		}
		from = at
	}
	m.tell()
}

// stateAlpha is how often it may be shown of the mark at index i that no state of each
// server's explains a difference, though one does; the sum is m.alpha.
func (m *match) stateAlpha(i int) float64 {
	return eprocess.OfNth(m.alpha, i+1)
}

// stepsBetween says for each side by how much it has moved at each mark.
func (m *match) stepsBetween(before, now *bodies) [2]map[markKey]own.Step {
	return [2]map[markKey]own.Step{m.stepsOf(before.monolith, now.monolith), m.stepsOf(before.candidate, now.candidate)}
}

// stepsOf says by how much two bodies differ at each mark.
func (m *match) stepsOf(a, b []byte) map[markKey]own.Step {
	steps := map[markKey]own.Step{}
	for _, d := range m.diff(a, b) {
		steps[markKey{Path: d.Path, How: d.How, Expect: d.Expect}] = own.Step{Times: d.Times, By: d.Numbers[1] - d.Numbers[0]}
	}
	return steps
}

// markOwn voids what was won at marks at which each server turns out to hold a state of its
// own, by bets that take the responses for exchangeable. EQUIVALENT still takes that noise
// explains how often the candidate differs there (noiseBound).
func (m *match) markOwn() {
	for _, k := range m.marks {
		if k.Direct != nil {
			k.Direct.Noisy = m.noise.Learnt[k.noise()]
		}
		if !k.Own && m.noise.Own[k.noise()] && k.Expect < 0 {
			k.Own = true
			m.forms.MarkOwn(k.Path)
		}
	}
}

// isExplained reports whether a state of each server's may be what the bets have won on.
// Where the monolith varies often, no bet counts.
func (k *mark) isExplained() bool {
	if k.Direct != nil {
		return k.Gated || k.spells != nil && k.spells.Open(!header.IsPolicy(header.NameOf(k.Path)))
	}
	return k.Gated || k.drift.Explains() || k.isEarly()
}

// isEarly reports whether a mark has not been watched for long enough for a state of each
// server's to be seen to move: what is the same for all requests, and that of which such a
// state was in question before a restart.
func (k *mark) isEarly() bool { return k.drift.Brief() && (k.Unsure || k.holds.Holds()) }

// anyEarly reports whether one of these places has not been watched for long enough (isEarly).
func (m *match) anyEarly(places []string) bool {
	return slices.ContainsFunc(m.marks, func(k *mark) bool { return k.watched() && k.isEarly() && slices.Contains(places, k.Path) })
}

// isOpenState reports whether the bets on a mark would be shown, if it were known that no
// server holds a state of its own there.
func (k *mark) isOpenState() bool { return k.Pair.At > 0 && !k.Own && k.isExplained() }

// isUnsure reports whether the candidate differs at a mark more often, or at more places,
// than the monolith from itself, which is not shown to be the candidate's fault.
func (m *match) isUnsure(k *mark) bool {
	c := noise.Changed{Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
	if form.IsPiece(k.Path) && m.repeats >= own.Enough && c.Beyond() > pieceBeyond {
		return true
	}
	return k.Own && c.Beyond() > noise.Slack || k.isOpenState() || k.isFurther()
}

// unsureWords say why what isUnsure reports is not shown, and what settles it.
func (m *match) unsureWords(k *mark) string {
	settles := m.settles(k.Path)
	switch {
	case k.Own:
		return "both sides' values move, at different times, so each server seems to keep a state of its own, which says nothing about the candidate: " + settles
	case k.isEarly() && !k.Gated && !k.drift.Explains():
		return "each side gives the same value for many requests; a minute of traffic is needed to tell a wrong value from one that each server keeps for a while"
	case k.Self == 0:
		return "the monolith's value moves, and whether the candidate's moves with it, or each server holds a state of its own, is not known yet: " + settles
	}
	return "the monolith itself changes it, and the candidate does so more often or at more places: nothing tells a fault from a state of its own that moves in each server: if it is one, " + settles + "; if not, the candidate's is wrong"
}

// settles says how a place is left out whose values are each server's own.
func (m *match) settles(path string) string {
	if m.kind != whittle.FoundHeader {
		return "ignore the path, or give it a form"
	}
	name, _, _ := strings.Cut(header.NameOf(path), " ") // of a piece, a cookie
	return "compare.headers: {except: [" + name + "]} leaves it out"
}

// unsureBound keeps EQUIVALENT from being said while a candidate seems to differ at
// more places than the monolith from itself.
func (m *match) unsureBound() (b whittle.Bound, ok bool) {
	for _, k := range m.marks {
		if m.isUnsure(k) {
			return whittle.Bound{ID: "places", What: boundNoise, High: 1, MarginHigh: noise.Slack, Summary: m.pathWords(k.Path) + ": " + m.unsureWords(k)}, true
		}
	}
	return b, false
}

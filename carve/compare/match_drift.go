package compare

import (
	"fmt"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/carve/compare/noise"
)

// That the candidate's response and the monolith's second one are exchangeable given the
// first breaks where each server holds a state of its own that moves: prices that each
// process refreshes, a cache with a time to live, the load. Two responses of one server at
// one moment are nearer to each other then than to another server's. What both sides said
// to the same request at other times tells such a state from a candidate that is wrong:
// of the same data both sides' values move together, however wrong the candidate's are,
// what is wrong and constant or random moves on one side only, and two states that are
// each server's own move now here and now there.

// The bounds of drift: driftApart is how far apart two responses to a request are at least
// that are to show whether a state moves, driftEnough how many of them are wanted,
// driftWatched over what time, and driftFactor by how much less they must differ than the
// candidate's does. A state that moves once a minute stays as it is for driftWatched with
// a chance of 0.7 %.
const (
	driftApart   = time.Minute
	driftEnough  = 8
	driftWatched = 5 * time.Minute
	driftFactor  = 10
	driftFades   = 1 << 10
	// driftSeldom is in which share of exchanges the monolith's two responses may differ
	// where bets need no gate.
	driftSeldom = 0.1
	// driftMoves is how often either side must have moved alone, and driftApartly how often
	// both may have moved at a time for each of these: data that move between the two sides'
	// responses show such a pair, too. driftLean is what a bet on one of the sides must not
	// have won then.
	driftMoves   = 3
	driftApartly = 4
	// driftTogether is how often both must have moved for each time that either has alone.
	driftTogether = 8
	driftLean     = 4
	// driftReturns is how many moves may be taken back for each that is not, and driftOften
	// how many times as often as at once the monolith must have moved between two looks for
	// time to have moved it. Once at once may be by chance.
	driftReturns = 3
	driftOften   = 2
	// driftEarly is how long what is the same for all requests is watched before it is taken
	// for something that does not move.
	driftEarly = time.Minute
)

// drift says how what the monolith changes by itself at a pattern lies in time. It counts
// the places that differ between the monolith's two responses of one exchange, between the
// monolith's response and the candidate's, and between the monolith's and its own to the
// same request at least driftApart before.
type drift struct {
	Now, Candidate, Later mean
	since, until          time.Time
	log                   bool // see watch
	// varies is the share of exchanges in which the monolith's two responses differ, later
	// that in which it differs from itself of another look, and atOnce that in which it
	// does so within an instant.
	varies, later, atOnce mean
	// stayed counts moves that were seen to last, or to go on, and returned those after
	// which all was as before.
	stayed, returned int
	moves            moves
}

// step is by how much a side has moved at a pattern: at how many places, and how far the
// number at the first of them, 0 where it is none.
type step struct {
	times int
	by    float64
}

// see takes note of how far both sides are off in a repeated exchange.
func (d *drift) see(candidate, self int) {
	d.Candidate.see(candidate)
	d.Now.see(self)
	d.varies.see(min(self, 1))
}

// watch takes note that a pattern at which the candidate differs was looked at. A log is as
// long as it is, so nobody waits for more of it.
func (d *drift) watch(at time.Time, log bool) {
	d.log = log
	if d.since.IsZero() || at.Before(d.since) {
		d.since = at
	}
	d.until = at
}

// known reports whether enough was seen of other times.
func (d *drift) known() bool {
	return d.Later.n >= driftEnough && d.until.Sub(d.since) >= driftWatched
}

// still reports whether the monolith's own responses at other times differ at hardly
// more places than its two responses of one exchange: by a tenth at most of the places
// at which the candidate's response differs beyond those.
func (d *drift) still() bool {
	return d.known() && driftFactor*(d.Later.value()-d.Now.value()) <= d.Candidate.value()-d.Now.value()
}

// lasting reports whether what has moved was moved by time, and does not merely vary from
// response to response: then it would do so at once as often, and be as before at the next
// look.
func (d *drift) lasting() bool {
	if d.returned > driftReturns*d.stayed {
		return false
	}
	once, of := d.varies.sum+d.atOnce.sum, d.varies.n+d.atOnce.n
	return d.later.sum*max(1, of) > driftOften*max(0, once-1)*d.later.n
}

// often reports whether the monolith's two responses of one exchange often differ.
func (d *drift) often() bool { return d.varies.value() > driftSeldom }

// apart reports whether either side's values move without the other's.
func (d *drift) apart() bool {
	return d.Now.n >= driftEnough && !d.often() && d.lasting() && d.moves.apart()
}

// explains reports whether a state that each server holds by itself may be why the
// candidate differs more often than the monolith from itself, of which so many repeats
// did: the monolith's values move, and neither is that too little, nor shown that the
// candidate's are of the same data, or are none that move as the monolith's do.
func (d *drift) explains(self int) bool {
	switch {
	case d.moves.shown():
		return false
	case self > 0 && d.Later.n >= driftEnough:
		return driftFactor*(d.Later.value()-d.Now.value()) > d.Candidate.value()-d.Now.value()
	}
	return d.later.sum > 0 && d.lasting() && !d.still()
}

// mean is a mean that fades, so that a change shows.
type mean struct{ sum, n float64 }

func (m *mean) see(x int) {
	m.sum += float64(x)
	if m.n++; m.n > driftFades {
		m.sum, m.n = m.sum/2, m.n/2
	}
}

func (m *mean) value() float64 { return m.sum / max(1, m.n) }

// watched reports whether the values at a mark may be those of a state of each server's.
func (k *mark) watched() bool { return k.Expect < 0 && !k.Own && k.learnable() }

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
			k.drift.watch(x.At, m.log)
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
	if x.At.Sub(s.at) >= driftApart {
		steps := m.stepsOf(s.first, x.Monolith.Body)
		for _, i := range list {
			k := m.marks[i]
			k.drift.Later.see(steps[k.markKey].times)
		}
	}
	m.recallMoves(list, s, x)
}

// recallMoves counts which side's values have moved, and what became of them by the next
// look. Where the sides are alike then, one has caught up with the other, and has not moved
// by itself.
func (m *match) recallMoves(list []int, s *said, x *whittle.Exchange) {
	now := bodiesOf(x)
	switch {
	case s.before == nil:
		s.before = m.earlier.bodies(x)
		return
	case s.then == nil:
		monolith, candidate := m.stepsBetween(s.before, now)
		moved, open := false, false
		for _, i := range list {
			k := m.marks[i]
			a, b := monolith[k.markKey], candidate[k.markKey]
			switch {
			case a.times+b.times == 0:
				k.drift.later.see(0)
				k.drift.moves.stay(s.before.at, x.At)
			case a.times > 0 && b.times > 0 && s.before.user != now.user: // they may say it of the user
				open = true
			default:
				k.drift.later.see(min(1, a.times))
				moved = true
			}
		}
		if moved {
			s.then = m.earlier.bodies(x)
		} else if !open {
			s.before.at = x.At
		}
		return
	}
	monolith, candidate := m.stepsBetween(s.before, s.then)
	monolithBack, candidateBack := m.stepsBetween(s.before, now)
	differed := m.stepsOf(s.then.monolith, s.then.candidate)
	for _, i := range list {
		k := m.marks[i]
		a, b := monolith[k.markKey], candidate[k.markKey]
		both := a.times > 0 && b.times > 0
		switch {
		case a.times+b.times == 0:
		case differed[k.markKey].times == 0:
		case both && s.before.user != s.then.user: // they may say it of the user
		case monolithBack[k.markKey].times+candidateBack[k.markKey].times == 0:
			k.drift.returned++
		default:
			k.drift.stayed++
			k.drift.moves.see(a, b, s.before.at, s.then.at, m.stateAlpha(i))
		}
		m.tellOwn(k)
	}
	m.refresh()
	m.earlier.settled(s)
}

// tellOwn takes note of a state that each server holds by itself.
func (m *match) tellOwn(k *mark) {
	if k.drift.apart() {
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
		monolith, candidate := m.stepsBetween(was, &bodies{monolith: round.Monolith.Body, candidate: round.Candidate.Body})
		differ := m.stepsOf(round.Monolith.Body, round.Candidate.Body)
		for key := range differed {
			i, known := m.index[key]
			if !known || !m.marks[i].watched() {
				continue
			}
			k, a, b := m.marks[i], monolith[key], candidate[key]
			if round.After < time.Second {
				k.drift.atOnce.see(min(1, a.times))
			} else {
				k.drift.later.see(min(1, a.times))
			}
			if a.times+b.times == 0 {
				k.drift.moves.stay(from, at)
			} else {
				if differ[key].times > 0 {
					k.drift.moves.see(a, b, from, at, m.stateAlpha(i))
				}
				m.tellOwn(k)
				delete(differed, key)
			}
		}
		from = at
	}
	m.refresh()
}

// stateAlpha is how often it may be shown of the mark at index i that no state of each
// server's explains a difference, though one does; the sum is m.alpha.
func (m *match) stateAlpha(i int) float64 {
	j := float64(i + 1)
	return m.alpha / (j * (j + 1))
}

// stepsBetween says for each side by how much it has moved at each mark.
func (m *match) stepsBetween(before, now *bodies) (monolith, candidate map[markKey]step) {
	return m.stepsOf(before.monolith, now.monolith), m.stepsOf(before.candidate, now.candidate)
}

// disown voids what was won at marks at which each server turns out to hold a state of its
// own, by bets that take the responses for exchangeable. EQUIVALENT still takes that noise
// explains how often the candidate differs there (noiseBound).
func (m *match) disown() {
	for _, k := range m.marks {
		if !k.Own && m.noise.Own[k.noise()] && k.Expect < 0 {
			k.Own = true
			m.whole.Pair.Void()
			m.forms.Own(k.Path)
		}
	}
}

// stepsOf says by how much two bodies differ at each mark.
func (m *match) stepsOf(a, b []byte) map[markKey]step {
	steps := map[markKey]step{}
	for _, d := range m.diff(a, b) {
		steps[markKey{Path: d.Path, How: d.How, Expect: d.Expect}] = step{times: d.Times, by: d.Numbers[1] - d.Numbers[0]}
	}
	return steps
}

// isExplained reports whether a state of each server's may be what the bets have won on.
// Where the monolith varies often, no bet counts without a gate of its own.
func (k *mark) isExplained() bool {
	return !k.Gated && (k.drift.explains(k.Self) || k.isEarly())
}

// isEarly reports whether a mark has not been watched for long enough for a state of each
// server's to be seen to move: what is the same for all requests, and that of which such a
// state was in question before a restart.
func (k *mark) isEarly() bool {
	d := &k.drift
	watched := d.until.Sub(d.since)
	if watched <= 0 || watched >= driftEarly || d.log || d.moves.shown() {
		return false
	}
	return k.Unsure || k.spells.last()
}

// anyEarly reports whether one of these places has not been watched for long enough (isEarly).
func (m *match) anyEarly(places []string) bool {
	return slices.ContainsFunc(m.marks, func(k *mark) bool { return k.watched() && k.isEarly() && slices.Contains(places, k.Path) })
}

// isOpenState reports whether the bets on a mark would be shown, if it were known that no
// server holds a state of its own there.
func (k *mark) isOpenState() bool { return k.Pair.At > 0 && !k.Own && k.isExplained() }

// anyOpenState reports whether somebody has won at a mark of which that is not known, so
// that it may be what was won anywhere.
func (m *match) anyOpenState() bool {
	return slices.ContainsFunc(m.marks, func(k *mark) bool { return k.Pair.Now > 1 && !k.Own && k.isExplained() })
}

// isUnsure reports whether the candidate differs at a mark more often, or at more places,
// than the monolith from itself, which is not shown to be the candidate's fault.
func (m *match) isUnsure(k *mark) bool {
	c := noise.Changed{Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
	if form.IsPiece(k.Path) && m.repeats >= driftEnough && c.Beyond() > pieceBeyond {
		return true
	}
	return k.Own && c.Beyond() > noise.Slack || k.isOpenState() || k.isFurther()
}

// unsureWords say why what isUnsure reports is not shown.
func (k *mark) unsureWords() string {
	d := &k.drift
	if k.Own {
		return "both sides' values move, now the one's and now the other's, so each server seems to hold a state of its own, which says nothing of the candidate: ignore the path, or give it a form"
	}
	if k.isEarly() && !d.explains(k.Self) {
		return "both sides say the same to all requests, and have not been watched for a minute yet: whether each server holds a value of its own that moves is not known"
	}
	if k.isOpenState() && !(k.Self > 0 && d.Later.n >= driftEnough) {
		return "the monolith's value moves, and whether the candidate's moves with it, or each server holds a state of its own, is not known yet"
	}
	said := fmt.Sprintf("the candidate differs at %.1f places and the monolith from itself at %.1f", d.Candidate.value(), d.Now.value())
	if !d.known() {
		return said + "; too few requests came again, a minute later or more and in five minutes or more, to tell that from a state that moves in each server"
	}
	return said + fmt.Sprintf(", but at %.1f from what it said to the same requests a minute before or earlier: each server may hold a state of its own that moves. Ignore the path, or give it a form", d.Later.value())
}

// unsureBound keeps EQUIVALENT from being said while a candidate seems to differ at
// more places than the monolith from itself.
func (m *match) unsureBound() (b whittle.Bound, ok bool) {
	for _, k := range m.marks {
		if m.isUnsure(k) {
			return whittle.Bound{ID: "places", What: boundNoise, High: 1, MarginHigh: noise.Slack, Summary: k.Path + ": " + k.unsureWords()}, true
		}
	}
	return b, false
}

package compare

import (
	"fmt"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
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
	// driftMoves is how often either side must have moved alone, where the monolith's two
	// responses of one exchange differ in at most driftSeldom, and driftLast how many moves
	// may be over at the next look for each that is not.
	driftMoves  = 3
	driftSeldom = 0.1
	driftLast   = 3
	// driftApartly is how often both sides may move at a time for each time that either has
	// moved alone: data that move between the two sides' responses show such a pair, too.
	driftApartly = 4
	driftAlone   = 6
)

// drift says how what the monolith changes by itself at a pattern lies in time. It counts
// the places that differ between the monolith's two responses of one exchange, between the
// monolith's response and the candidate's, and between the monolith's and its own to the
// same request at least driftApart before.
type drift struct {
	Now, Candidate, Later mean
	since, until          time.Time
	// varies is the share of exchanges in which the monolith's two responses differ.
	varies mean
	// later are moves within seconds and minutes, atOnce those within an instant.
	later, atOnce moves
	// Of the former so many are known by the request that came again, and so many were
	// over at the next look; asked are those that asking again has shown.
	looked, gone, asked int
}

// moves count who has moved, at most one in earlierApart, since places and requests
// share a state.
type moves struct {
	monolith, candidate, both int
	// Of both, so many were numbers that moved the same way, and so many that moved
	// the one up and the other down.
	sameWay, crossing int
	last              time.Time
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

// watch takes note that somebody's bet on a pattern was looked at.
func (d *drift) watch(at time.Time) {
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

// see counts who has moved at a time.
func (d *moves) see(monolith, candidate step, at time.Time) {
	if gap := at.Sub(d.last); gap < earlierApart && gap > -earlierApart || monolith.times+candidate.times == 0 {
		return
	}
	d.last = at
	switch {
	case monolith.times > 0 && candidate.times > 0:
		d.both++
		d.sameWay += int(eprocess.Indicator(monolith.by*candidate.by > 0))
		d.crossing += int(eprocess.Indicator(monolith.by*candidate.by < 0))
	case monolith.times > 0:
		d.monolith++
	default:
		d.candidate++
	}
}

// apart reports whether either side moves without the other, together whether they move
// at the same time.
func (d *moves) apart() bool {
	least := min(d.monolith, d.candidate)
	return least >= driftMoves && driftApartly*least >= d.both
}

func (d *moves) together() bool {
	return d.both >= driftMoves && d.both > driftApartly*min(d.monolith, d.candidate) && !d.unlike()
}

// unlike reports whether numbers that both move by the next look do so each by itself:
// now the same way and now not. What is made of the same number, but wrong, nearly always
// rises with it or falls with it.
func (d *moves) unlike() bool {
	least := min(d.sameWay, d.crossing)
	return least >= driftMoves && driftApartly*least >= d.both
}

// lasting reports whether what has moved stays so for a while, and does not merely vary
// from response to response. Where asking again has shown moves, that they seldom come at
// once says so, however soon the next one follows.
func (d *drift) lasting() bool {
	once := d.atOnce.monolith + d.atOnce.candidate + d.atOnce.both
	if d.asked < driftLast*once {
		return false
	}
	return d.asked >= driftMoves || driftLast*d.looked >= d.gone && d.looked+d.asked > 0
}

// apart reports whether either side's values move without the other's.
func (d *drift) apart() bool {
	return d.Now.n >= driftEnough && !d.often() && d.lasting() && (d.later.apart() || d.atOnce.apart())
}

// often reports whether the monolith's two responses of one exchange often differ.
func (d *drift) often() bool { return d.varies.value() > driftSeldom }

// explains reports whether it is not to be told from a state that each server holds by
// itself why the candidate differs more often than the monolith from itself, of which so
// many repeats did: if some did, where it was seen that something drifts and not that both
// sides do so together, and if none did, while that is open.
func (d *drift) explains(self int) bool {
	switch together := d.later.together() && !d.atOnce.apart(); {
	case self > 0 && d.Later.n >= driftEnough && !together:
		return driftFactor*(d.Later.value()-d.Now.value()) > d.Candidate.value()-d.Now.value()
	case together:
		return false
	}
	return d.open()
}

// open reports whether the monolith's values move, and it is not known yet whether the
// candidate's move too, each by itself, or not at all. Of two equal states that move by
// themselves the next to move is the candidate's with a chance of a half, so that
// driftAlone moves of one side and none of the other's are one in 32.
func (d *drift) open() bool {
	m := &d.later
	return d.lasting() && m.monolith+m.both >= 2 && (min(m.monolith, m.candidate) > 0 || max(m.monolith, m.candidate) < driftAlone)
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
// the marks of the present exchange on which somebody has bet.
func (m *match) recall(x *whittle.Exchange) {
	var list []*mark
	for _, i := range m.cand {
		if k := m.marks[i]; k.contested() {
			k.drift.watch(x.At)
			list = append(list, k)
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
		for _, k := range list {
			k.drift.Later.see(steps[k.markKey].times)
		}
	}
	m.recallMoves(list, s, x)
}

// recallMoves counts which side's values have moved, and stay so at the next look. Where
// the sides are alike then, one has caught up with the other, and has not moved by itself.
func (m *match) recallMoves(list []*mark, s *said, x *whittle.Exchange) {
	now := bodiesOf(x)
	switch {
	case s.before == nil:
		s.before = m.earlier.bodies(x)
		return
	case s.then == nil:
		monolith, candidate := m.stepsBetween(s.before, now)
		if slices.ContainsFunc(list, func(k *mark) bool { return monolith[k.markKey].times+candidate[k.markKey].times > 0 }) {
			s.then = m.earlier.bodies(x)
		}
		return
	}
	monolith, candidate := m.stepsBetween(s.before, s.then)
	monolithLeft, candidateLeft := m.stepsBetween(s.then, now)
	differed := m.stepsOf(s.then.monolith, s.then.candidate)
	for _, k := range list {
		a, b := monolith[k.markKey], candidate[k.markKey]
		both := a.times > 0 && b.times > 0
		switch {
		case differed[k.markKey].times == 0:
		case both && s.before.user != s.then.user: // they may say it of the user
		case a.times > 0 && monolithLeft[k.markKey].times > 0 || b.times > 0 && candidateLeft[k.markKey].times > 0:
			k.drift.gone++
		default:
			k.drift.looked++
			k.drift.later.see(a, b, x.At)
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
	for i := range r.Rounds {
		round := &r.Rounds[i]
		monolith, candidate := m.stepsBetween(was, &bodies{monolith: round.Monolith.Body, candidate: round.Candidate.Body})
		if len(monolith)+len(candidate) == 0 {
			continue
		}
		differ := m.stepsOf(round.Monolith.Body, round.Candidate.Body)
		for key := range differed {
			i, known := m.index[key]
			if a, b := monolith[key], candidate[key]; known && a.times+b.times > 0 && differ[key].times > 0 && m.marks[i].watched() {
				k := m.marks[i]
				if round.After < time.Second {
					k.drift.atOnce.see(a, b, x.At)
				} else {
					k.drift.asked++
					k.drift.later.see(a, b, x.At.Add(round.After))
				}
				m.tellOwn(k)
				delete(differed, key)
			}
		}
	}
	m.refresh()
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
	for _, d := range m.differ.Diff(a, b) {
		steps[markKey{Path: d.Path, How: d.How, Expect: d.Expect}] = step{times: d.Times, by: d.Numbers[1] - d.Numbers[0]}
	}
	return steps
}

// isExplained reports whether a state of each server's may be what the bets have won on.
// Where the monolith varies often, no bet counts without a gate of its own.
func (k *mark) isExplained() bool { return !k.Gated && k.drift.explains(k.Self) }

// isOpenState reports whether the bets on a mark would be shown, if it were known that no
// server holds a state of its own there.
func (k *mark) isOpenState() bool { return k.Pair.At > 0 && !k.Own && k.isExplained() }

// anyOpenState reports whether there is such a mark.
func (m *match) anyOpenState() bool { return slices.ContainsFunc(m.marks, (*mark).isOpenState) }

// isUnsure reports whether the candidate differs at a mark more often, or at more places,
// than the monolith from itself, which is not shown to be the candidate's fault.
func (m *match) isUnsure(k *mark) bool {
	c := noise.Changed{Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
	return k.Own && c.Beyond() > noise.Slack || k.isOpenState() || k.isFurther()
}

// unsureWords say why what isUnsure reports is not shown.
func (k *mark) unsureWords() string {
	d := &k.drift
	if k.Own {
		return "both sides' values move, now the one's and now the other's, so each server seems to hold a state of its own, which says nothing of the candidate: ignore the path, or give it a form"
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

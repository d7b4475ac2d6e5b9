package compare

import (
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/body"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// recheckAfter says when both sides are asked again about a difference: twice at once, then after these
// times, so that a side that lags behind has caught up by the last.
var recheckAfter = [...]time.Duration{0, 0, time.Second, 4 * time.Second}

const (
	// reproducedEvery is how far apart two reproduced differences must lie to count as two. A value that
	// each side keeps for a while, from another moment, differs that long and then no more.
	reproducedEvery = 30 * time.Second
	// movesMost is the share of compared exchanges in which data may move between the two sides'
	// responses at a place not known to vary. What moves more often has shown that in the thousands of
	// mirrored exchanges before, whose rechecks repeat it to the monolith. Set by TestLateAndRare.
	movesMost = 0.001
	// suspectFor is for how many compared exchanges after the candidate alone was odd all its responses
	// to users are worth comparing.
	suspectFor = 2000
)

// oddEvery is how far apart two odd responses must lie to count as two: until the last round of the one
// is over, both may have one cause, such as a copy that one side took later. At a place not known to
// vary, what is gone in the first two rounds counts anew after oddAtOnceEvery.
var oddEvery, oddAtOnceEvery = recheckAfter[2] + recheckAfter[3], recheckAfter[2]

// rechecks are what came of asking both sides again about differences. Each test bets with its part
// of the error rate.
//
// Reproduced: every round gives the same two responses. Hypothesis: each side draws its responses to
// one request independently, from one distribution. A further round then repeats two different values
// with a chance of at most 1/4, whatever the distribution (p·q ≤ 1/4 where p + q ≤ 1). So 4^k, where
// k rounds repeat them, and 0 otherwise is an e-value. It breaks where both sides keep random values
// of their own for long, so of differences within half a minute one is bet on.
//
// Kept: the same at a place where the monolith seldom varies (own.Seldom). That it varies explains a
// difference that goes away, and none that both sides keep to, such as one tenant's wrong count.
// Differences that go away are expected here, so the first of each half a minute is bet on however
// it ends: 4^k or 0, with an expectation of at most 1.
//
// Turns: one side gave another response than before, and the other did not. Where data change in
// between, whoever was asked first seems to have changed, so the candidate is held against the
// monolith in the same turn. Asked second, it is bet on against the monolith asked first in the same
// exchange, which errs in the candidate's favour. Asked first, by users, it is held against the
// monolith asked first in mirrored exchanges: the hash puts a user on the candidate with the chance
// of the share in force, so 1/share is an e-value of a user's first odd response there. Each user is
// bet on once, since a user's requests are alike.
//
// Lopsided: at a large share that chance is worth little. So where users get the candidate's response
// first, the side that alone gave another response is held against a fair coin. Data that move
// between the two responses make the first one seem odd; movesMost allows for them.
//
// Where each side keeps a copy of data that move, the side with the later copy seems odd to all
// requests and users until the older copy ends. So of odd responses that come together, of either
// side, one is bet on (oddEvery).
type rechecks struct {
	Reproduced spacedBets      `json:"reproduced"`
	Kept       spacedBets      `json:"kept"`
	Second     spacedBets      `json:"second"`
	First      spacedBets      `json:"first"`
	Lopsided   lopsided        `json:"lopsided"`
	Users      map[uint64]bool `json:"users"` // of First
	Places     []recheckPlace  `json:"places"`

	// ownCount is at how many places each server was known to hold a state of its own when the wealth
	// was last looked at.
	ownCount int
}

// spacedBets are bets on events that lie apart in time.
type spacedBets struct {
	eprocess.Bets
	Last time.Time `json:"last"`
}

// due reports whether a moment lies far enough after the last one bet on, and then takes its place.
// Exchanges out of order, as from gateways whose clocks differ, count as of the latest moment before them.
func (b *spacedBets) due(at time.Time, every time.Duration) bool {
	if at.Sub(b.Last) < every {
		return false
	}
	b.Last = at
	return true
}

// lopsided bets that, of the two sides, the candidate alone is odd more often than the monolith alone.
//
// Hypothesis: given the past, the candidate is odd alone in a round with a probability of at most the
// monolith's plus movesMost.
type lopsided struct {
	spacedBets
	// Quiet counts the rounds since the last oddity, Since those since the candidate's last.
	Quiet int `json:"quiet"`
	Since int `json:"since"`
}

// round takes in a round without an oddity.
func (b *lopsided) round() { b.Quiet, b.Since = b.Quiet+1, b.Since+1 }

// odd settles an oddity of the candidate or of the monolith at exchange n.
func (b *lopsided) odd(candidate bool, alpha float64, n int) {
	b.Allow(movesMost, b.Quiet)
	if b.Quiet = 0; candidate {
		b.Since = 0
	}
	b.Bet(2*eprocess.Indicator(candidate)-1, alpha, n)
}

// lately reports whether the candidate lately was odd alone.
func (b *lopsided) lately() bool { return b.Since < suspectFor }

// recheckPlace counts what rechecks showed at one place, by the side that was asked first.
type recheckPlace struct {
	Place string   `json:"place"`
	Seen  [2]asked `json:"seen"`
}

// asked is what rechecks showed at a place in one order.
type asked struct {
	whittle.Asked
	// Kept counts the rechecks in which both sides kept to a difference despite the monolith's noise.
	Kept int `json:"kept,omitempty"`
}

func newRechecks() rechecks {
	bold := spacedBets{Bets: eprocess.Bold.New()}
	late := lopsided{spacedBets: spacedBets{Bets: eprocess.Late.New()}, Since: suspectFor}
	return rechecks{Reproduced: bold, Kept: bold, Second: bold, First: bold, Lopsided: late, Users: map[uint64]bool{}}
}

// recheckOutcome is the result of a recheck.
type recheckOutcome struct {
	places              []string
	noisy               bool // the monolith is known to vary at all of them
	monolith, candidate bool // gave another response than before
	after               time.Duration
}

// counted is the count for a place after rounds.
func (o *recheckOutcome) counted(a *whittle.Asked, rounds int) *int {
	switch {
	case o.monolith:
		return &a.Noise
	case !o.candidate:
		return &a.Reproducible
	case rounds > 2: // it stayed as at first
		return &a.Stale
	}
	return &a.Intermittent
}

// Recheck takes both sides' responses to a request that was sent again, of all rounds so far. more: it
// must be sent again, after that long from the last round. Otherwise the difference is settled, and r
// must not be passed again. A round in which a side did not respond settles it without evidence.
func (j *Judge) Recheck(r *whittle.Recheck) (after time.Duration, more bool) {
	if j.c.Kind == whittle.JSON {
		r = rewritten(r)
	}
	x := r.Exchange
	s := j.seriesOf(x)
	list, rare := s.places(x, &x.Monolith, &x.Candidate)
	o := recheckOutcome{places: list}
	if len(list) == 0 {
		o.places, o.noisy = rare, true
	}
	if len(o.places) == 0 || len(r.Rounds) == 0 || unanswered(r) {
		return 0, len(o.places) > 0 && len(r.Rounds) == 0
	}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		monolith := j.varied(s, x, &x.Monolith, &round.Monolith, o.places)
		candidate := j.varied(s, x, &x.Candidate, &round.Candidate, o.places)
		if !monolith && !candidate && !j.varied(s, x, &round.Monolith, &round.Candidate, o.places) {
			// It is gone and lay in what varies around it: an order of elements, with others since.
			monolith, candidate = true, true
		}
		o.monolith, o.candidate = o.monolith || monolith, o.candidate || candidate
		o.after = round.After
	}
	if n := len(r.Rounds); !o.monolith && !o.candidate && n < len(recheckAfter) {
		return recheckAfter[n], true
	}
	j.verdict = nil
	j.settle(s, r, &o)
	return 0, false
}

// rewritten is r with the bodies to compare.
func rewritten(r *whittle.Recheck) *whittle.Recheck {
	out := &whittle.Recheck{Exchange: body.Exchange(r.Exchange), Rounds: slices.Clone(r.Rounds)}
	for i := range out.Rounds {
		round := &out.Rounds[i]
		x := body.Exchange(&whittle.Exchange{Monolith: round.Monolith, Candidate: round.Candidate})
		round.Monolith, round.Candidate = x.Monolith, x.Candidate
	}
	return out
}

func unanswered(r *whittle.Recheck) bool {
	return slices.ContainsFunc(r.Rounds, func(o whittle.Round) bool {
		return o.Monolith.Failure != whittle.NoFailure || o.Candidate.Failure != whittle.NoFailure ||
			o.Monolith.Truncated || o.Candidate.Truncated
	})
}

// varied reports whether a side's two responses differ at one of the places.
func (j *Judge) varied(s *series, x *whittle.Exchange, before, now *whittle.Response, places []string) bool {
	list, rare := s.places(x, before, now)
	return slices.ContainsFunc(places, func(p string) bool { return slices.Contains(list, p) || slices.Contains(rare, p) })
}

// settle counts a finished recheck.
func (j *Judge) settle(s *series, r *whittle.Recheck, o *recheckOutcome) {
	x, t := r.Exchange, &j.rechecks
	if m := s.match; m != nil && m.learn {
		m.asked(r)
	}
	s.headers.asked(r)
	t.voidOwn(j.ownCount())
	if o.monolith {
		for i := range r.Rounds {
			s.method.Varies(&x.Monolith, &r.Rounds[i].Monolith)
			s.headers.varies(x, &x.Monolith, &r.Rounds[i].Monolith)
		}
	}
	// By now the monolith has also responded to what was under way at the same time.
	anothers := eprocess.Indicator(!o.monolith && s.match != nil && j.others.IsAnothers(x))
	for _, place := range o.places {
		p := t.at(place)
		if p == nil {
			continue
		}
		a := &p.Seen[s.order]
		a.Times++
		a.AnotherRequest += int(anothers)
		came := o.counted(&a.Asked, len(r.Rounds))
		*came++
		switch {
		case came == &a.Stale:
			a.LagMs = max(a.LagMs, o.after.Milliseconds())
		case came == &a.Reproducible && o.noisy:
			a.Kept++
		}
	}
	j.bet(s, r, o)
}

// bet bets on how a recheck ended.
func (j *Judge) bet(s *series, r *whittle.Recheck, o *recheckOutcome) {
	x, t := r.Exchange, &j.rechecks
	n, alpha := j.compared(), eprocess.OfRest*alphaOf(j.c)
	same := !o.monolith && !o.candidate
	early := s.match != nil && s.match.anyEarly(o.places) // a state of each server's own stays apart that long
	if e := eprocess.Indicator(same) * float64(uint(1)<<(2*len(r.Rounds))); o.noisy && t.Kept.due(x.At, reproducedEvery) {
		t.Kept.See(e, alpha, n)
	} else if !o.noisy && !early && t.Reproduced.due(x.At, reproducedEvery) {
		t.Reproduced.See(e, alpha, n)
	}
	if o.monolith == o.candidate {
		return
	}
	every, atOnce := oddEvery, !o.noisy && len(r.Rounds) <= 2
	if atOnce {
		every = oddAtOnceEvery
	}
	served := x.First() == whittle.Candidate
	if served == o.candidate && (atOnce || t.First.due(x.At, oddEvery)) { // the side asked first was odd
		t.odd(x, served, alpha, n)
	}
	if s == j.served && atOnce && t.Lopsided.due(x.At, every) {
		t.Lopsided.odd(o.candidate, alpha, n)
	}
	if !served && t.Second.due(x.At, every) {
		t.Second.See(2*eprocess.Indicator(o.candidate), alpha, n)
	}
}

// voidOwn takes back what was won once each server turns out to hold a state of its own. Then it proves
// nothing that values stay apart for seconds, or that one side moves alone.
func (t *rechecks) voidOwn(places int) {
	if places > t.ownCount {
		for _, b := range []*spacedBets{&t.Reproduced, &t.Kept, &t.Second, &t.First, &t.Lopsided.spacedBets} {
			b.Void()
		}
		t.Lopsided.Since = suspectFor
	}
	t.ownCount = places
}

// odd bets on the side of a user whose first response was odd.
func (t *rechecks) odd(x *whittle.Exchange, served bool, alpha float64, n int) {
	share := x.FirstChance
	if !(share > 0 && share < 1) {
		return
	}
	if x.User != 0 {
		if t.Users[x.User] || len(t.Users) >= digest.Remembered {
			return
		}
		t.Users[x.User] = true
	}
	t.First.See(eprocess.Indicator(served)/share, alpha, n)
}

// at finds or makes the counts of a place; nil where there are too many.
func (t *rechecks) at(place string) *recheckPlace {
	p := t.find(place)
	if p == nil && len(t.Places) < maxMarks {
		t.Places = append(t.Places, recheckPlace{Place: place})
		p = &t.Places[len(t.Places)-1]
	}
	return p
}

// find is what is known of a place; nil: nothing.
func (t *rechecks) find(place string) *recheckPlace {
	i := slices.IndexFunc(t.Places, func(p recheckPlace) bool { return p.Place == place })
	if i < 0 {
		return nil
	}
	return &t.Places[i]
}

// varied counts the rechecks of a kind in one order, and those in which the monolith itself changed.
func (t *rechecks) varied(kind whittle.FindingKind, order int) (noise, times int) {
	if p := t.find(string(kind)); p != nil {
		return p.Seen[order].Noise, p.Seen[order].Times
	}
	return 0, 0
}

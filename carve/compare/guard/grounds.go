package guard

import (
	"math"

	"whittle/carve/compare/eprocess"
)

// grounds is what one meter stands on: its tests and what they have seen.
type grounds struct {
	Firsts contest       `json:"firsts"`
	Users  contest       `json:"users"`
	Pairs  eprocess.Bets `json:"pairs"`
	Tails  eprocess.Bets `json:"tails"`
	// Mirrored bets on mirrored exchanges while users are on the candidate: on errors by
	// themselves, on latency together with served ones.
	Mirrored eprocess.Bets `json:"mirrored"`
	// Stakes is the wealth that each source began with; 0: it has not begun.
	Stakes [sources]float64 `json:"stakes"`
	// Candidate and Monolith count all of the responses of this attempt, for the
	// eye alone.
	Candidate seen `json:"candidate"`
	Monolith  seen `json:"monolith"`
	Breached  bool `json:"breached,omitempty"`

	logE   float64 // logEValue after logEAt
	logEAt playedGrounds
}

// playedGrounds says up to which bet of each source a wealth is known.
type playedGrounds struct {
	known  bool
	plays  [sources]int
	stakes [sources]float64
}

func (e *grounds) played() playedGrounds {
	return playedGrounds{true, [sources]int{
		e.Firsts.Evidence.Plays, e.Users.Evidence.Plays, e.Pairs.Rounds, e.Tails.Rounds, e.Mirrored.Rounds,
	}, e.Stakes}
}

// The sources of a meter's evidence.
const (
	fromFirsts = iota
	fromUsers
	fromPairs
	fromTails
	fromMirrored
	sources
)

// parts is what each source gets of all wealth when it begins.
var parts = [sources]float64{fromUsers: 0.3, fromPairs: 0.4, fromTails: 0.3, fromMirrored: 0.3}

// seen counts responses.
type seen struct {
	N   int `json:"n"`
	Bad int `json:"bad"`
}

func (s *seen) add(bad bool) {
	s.N++
	s.Bad += int(eprocess.Indicator(bad))
}

func (s *seen) rate() float64 { return eprocess.Ratio(s.Bad, s.N) }

func newGrounds() grounds {
	return grounds{Pairs: eprocess.NewBets(), Tails: eprocess.NewBets(), Mirrored: eprocess.NewBets(), Stakes: [sources]float64{fromFirsts: 1}}
}

// begin gives a source that bets for the first time its part of the wealth, out
// of that of the others. Who divides a wealth and bets on with the parts has an
// e-process still, whatever ties the bets together; and no source that never
// bets (there are no pairs, nobody is known) costs the others anything.
func (e *grounds) begin(source int) {
	if e.Stakes[source] > 0 {
		return
	}
	all, part := min(math.Exp(e.logEValue()), eprocess.MaxEValue), parts[source]
	for i := range e.Stakes {
		e.Stakes[i] *= 1 - part
	}
	e.Stakes[source] = max(part*all, math.SmallestNonzeroFloat64)
}

// bet plays a source of pairs.
func (e *grounds) bet(source int, payoff, level float64) {
	e.begin(source)
	b := [sources]*eprocess.Bets{fromPairs: &e.Pairs, fromTails: &e.Tails, fromMirrored: &e.Mirrored}[source]
	b.Bet(payoff, level, b.Rounds+1)
}

// logEValue is the logarithm of the whole wealth.
func (e *grounds) logEValue() float64 {
	if at := e.played(); e.logEAt != at {
		e.logE, e.logEAt = e.sumOfLogs(), at
	}
	return e.logE
}

// reaches reports whether the whole wealth is at least so much.
func (e *grounds) reaches(threshold float64) bool {
	most := 0.0
	for i, made := range [sources]float64{
		fromFirsts: e.Firsts.Evidence.Most(), fromUsers: e.Users.Evidence.Most(),
		fromPairs: e.Pairs.Now, fromTails: e.Tails.Now, fromMirrored: e.Mirrored.Now,
	} {
		if e.Stakes[i] > 0 {
			most += e.Stakes[i] * made
		}
	}
	return most >= threshold && e.logEValue() >= math.Log(threshold)
}

// most is the source with the largest part of the wealth.
func (e *grounds) most() int {
	best, at := math.Inf(-1), fromFirsts
	for i, log := range e.logs() {
		if part := math.Log(e.Stakes[i]) + log; e.Stakes[i] > 0 && part > best {
			best, at = part, i
		}
	}
	return at
}

func (e *grounds) sumOfLogs() float64 {
	sum := math.Inf(-1)
	for i, log := range e.logs() {
		if e.Stakes[i] > 0 && !math.IsInf(log, -1) {
			sum = eprocess.LogSum(max(sum, -1e6), math.Log(e.Stakes[i])+log)
		}
	}
	return max(sum, -1e6)
}

// logs are the logarithms of what each source has made of a stake of 1.
func (e *grounds) logs() [sources]float64 {
	return [sources]float64{
		fromFirsts: e.Firsts.Evidence.LogEValue(), fromUsers: e.Users.Evidence.LogEValue(),
		fromPairs: math.Log(e.Pairs.Now), fromTails: math.Log(e.Tails.Now),
		fromMirrored: math.Log(e.Mirrored.Now),
	}
}

func (e *grounds) valid() bool {
	ok := e.Firsts.valid() && e.Users.valid() && e.Pairs.Valid() && e.Tails.Valid() && e.Mirrored.Valid() && e.Candidate.valid() && e.Monolith.valid()
	for _, s := range e.Stakes {
		ok = ok && s >= 0 && s <= eprocess.MaxEValue
	}
	return ok && e.Stakes[fromFirsts] > 0
}

func (s *seen) valid() bool { return eprocess.UpTo(s.Bad, s.N) }

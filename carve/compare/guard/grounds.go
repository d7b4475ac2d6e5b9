package guard

import (
	"slices"

	"whittle/carve/compare/eprocess"
)

// grounds is what one meter stands on: its tests and what they have seen.
type grounds struct {
	// Firsts is the test of the present generation of users.
	Firsts eprocess.Blocks `json:"firsts"`
	// Bets are on pairs, by source.
	Bets [sources]eprocess.Bets `json:"bets"`
	// Candidate and Monolith count all of the responses of this attempt, for the
	// eye alone.
	Candidate eprocess.Share `json:"candidate"`
	Monolith  eprocess.Share `json:"monolith"`
	Breached  bool           `json:"breached,omitempty"`
}

// The sources of a meter's evidence.
const (
	fromFirsts   = iota // the first response of each user
	fromPairs           // the candidate asked first, or alone
	fromMirrored        // the monolith asked first, while users are on the candidate
	sources
)

// parts is what each source has of all wealth: a mean of e-processes is one, whatever ties them
// together. Set by TestTableOfGuards. That of users is split over their generations by
// eprocess.OfAttempts. A later generation is held to the bar alone, because those of two may be the same
// users on the same sides: what the one has won may be won again by the other, and only the sum of
// their chances is bounded.
var parts = [sources]float64{fromFirsts: 0.8, fromPairs: 0.1, fromMirrored: 0.1}

func newGrounds() (e grounds) {
	for i := range e.Bets {
		e.Bets[i] = eprocess.NewBets()
	}
	return e
}

// bet plays a source of pairs.
func (e *grounds) bet(source int, payoff, level float64) {
	b := &e.Bets[source]
	b.Bet(payoff, level, b.Rounds+1)
}

// eValue is the wealth of the first generation of users and of the pairs, or a later generation's if
// that is more; and the source of most of it.
func (e *grounds) eValue(generation int) (sum float64, most int) {
	w := parts
	for i := range w {
		w[i] *= e.Bets[i].Now
	}
	users := parts[fromFirsts] * eprocess.OfAttempts(generation+1) * e.Firsts.EValue()
	if w[fromFirsts] = users; generation > 0 {
		w[fromFirsts] = 0
	}
	for _, v := range w {
		sum += v
	}
	if most = slices.Index(w[:], slices.Max(w[:])); users > sum {
		sum, most = users, fromFirsts
	}
	return min(sum, eprocess.EValueCap), most
}

// block plays one block of the monolith's first responses and the candidate's.
func (e *grounds) block(m, c eprocess.Share, guess, slack float64) {
	if m.N > 0 && c.N > 0 {
		e.Firsts.Play(eprocess.NewOdds(guess, slack, m.N, c.N), m, c)
	}
}

// tally counts responses, and of those that are not bad the ones above a latency.
func tally(list []response, limit float64) (all, slow eprocess.Share) {
	for _, a := range list {
		if all.See(a.Bad); !a.Bad {
			slow.See(float64(a.Latency) > limit)
		}
	}
	return all, slow
}

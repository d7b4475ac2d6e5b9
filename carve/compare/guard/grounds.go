package guard

import (
	"slices"

	"whittle/carve/compare/eprocess"
)

// grounds are one meter's tests and what they have seen.
type grounds struct {
	// Firsts is the test of the present generation of users.
	Firsts eprocess.Blocks `json:"firsts"`
	// Bets are on pairs, by source.
	Bets [sources]eprocess.Bets `json:"bets"`
	// Candidate and Monolith count all responses of this attempt, only to be shown.
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

// parts is each source's part of all wealth: a mean of e-processes is one, however they depend on each
// other. Set by TestTableOfGuards. Generations of users split their part by eprocess.OfAttempts. A later
// generation meets the bar alone, because it may have the same users on the same sides: it may win again
// what an earlier one won, and only the sum of their chances is bounded.
var parts = [sources]float64{fromFirsts: 0.8, fromPairs: 0.1, fromMirrored: 0.1}

func newGrounds() (e grounds) {
	for i := range e.Bets {
		e.Bets[i] = eprocess.NewBets()
	}
	return e
}

func (e *grounds) bet(source int, payoff, level float64) {
	b := &e.Bets[source]
	b.Bet(payoff, level, b.Rounds+1)
}

// eValue is the wealth of the pairs and the first generation of users, or a later generation's if that
// is more. most is the source of most of it.
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

// block plays one block of first responses of both sides.
func (e *grounds) block(m, c eprocess.Share, guess, slack float64) {
	if m.N > 0 && c.N > 0 {
		e.Firsts.Play(eprocess.NewOdds(guess, slack, m.N, c.N), m, c)
	}
}

// tally counts responses, and of the good ones those above a latency.
func tally(list []response, limit float64) (all, slow eprocess.Share) {
	for _, a := range list {
		if all.See(a.Bad); !a.Bad {
			slow.See(float64(a.Latency) > limit)
		}
	}
	return all, slow
}

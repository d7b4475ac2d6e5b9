package guard

import (
	"slices"

	"whittle/carve/compare/eprocess"
)

// grounds is what one meter stands on: its tests and what they have seen.
type grounds struct {
	// Firsts is the test of the present generation of users.
	Firsts contest `json:"firsts"`
	// Began is what the first generation had made of 1 when a source began, or when the
	// generation was over; 0: not yet, and the source's part is with the first generation.
	Began [sources]float64 `json:"began"`
	// Bets are on pairs, by source.
	Bets [sources]eprocess.Bets `json:"bets"`
	// Candidate and Monolith count all of the responses of this attempt, for the
	// eye alone.
	Candidate seen `json:"candidate"`
	Monolith  seen `json:"monolith"`
	Breached  bool `json:"breached,omitempty"`
}

// The sources of a meter's evidence.
const (
	fromFirsts   = iota
	fromPairs    // served
	fromTails    // of served ones
	fromMirrored // while users are on the candidate: of latency together with served ones
	fromLater    // the generations of users after the first
	sources
)

// parts is what each source has of all wealth. What has not begun yet bets with the first
// generation of users, so a source that never bets (there are no pairs, nobody is known) costs the
// others nothing. Who divides a wealth and bets on with the parts has an e-process still, whatever
// ties the bets together. Set by TestTableOfGuards.
//
// The k-th generation after the first begins with 1/(k(k+1)) of its part and is held to the bar
// alone, because those of two generations may be the same users on the same sides: what the one
// has won may be won again by the other, and only the sum of their chances is bounded.
var parts = [sources]float64{fromFirsts: 0.3, fromPairs: 0.2, fromTails: 0.1, fromMirrored: 0.2, fromLater: 0.2}

// seen counts responses.
type seen struct {
	N   int `json:"n"`
	Bad int `json:"bad"`
}

func (s *seen) add(bad bool) {
	s.N++
	s.Bad += int(eprocess.Indicator(bad))
}

// high bounds the share of bad ones, but for the chance alpha.
func (s *seen) high(alpha float64) float64 {
	return eprocess.Share{N: s.N, Differing: s.Bad}.High(alpha)
}

func (s *seen) rate() float64 { return eprocess.Ratio(s.Bad, s.N) }

func newGrounds() (e grounds) {
	for i := range e.Bets {
		e.Bets[i] = eprocess.NewBets()
	}
	e.Began[fromLater] = 1
	return e
}

// begin parts a source from the first generation.
func (e *grounds) begin(source int) {
	if e.Began[source] == 0 {
		e.Began[source] = eprocess.AsNumber(e.Firsts.LogEValue())
	}
}

// roll ends a generation.
func (e *grounds) roll() {
	for i := range e.Began {
		e.begin(i)
	}
	e.Firsts = contest{}
}

// bet plays a source of pairs.
func (e *grounds) bet(source int, payoff, level float64) {
	e.begin(source)
	b := &e.Bets[source]
	b.Bet(payoff, level, b.Rounds+1)
}

// wealth is what each source has, in the k-th generation after the first.
func (e *grounds) wealth(k int) (w [sources]float64) {
	first := eprocess.AsNumber(e.Firsts.LogEValue())
	for i, began := range e.Began {
		if began == 0 {
			began = first
		}
		w[i] = parts[i] * began * e.Bets[i].Now
	}
	if k > 0 {
		w[fromLater] *= eprocess.OfNth(first, k)
	}
	return w
}

// eValue is the whole wealth, or a later generation's if that is more; and the source of most of it.
func (e *grounds) eValue(k int) (sum float64, most int) {
	w := e.wealth(k)
	later := w[fromLater]
	if k > 0 {
		w[fromLater] = 0 // held to the bar alone
	}
	for _, v := range w {
		sum += v
	}
	if most = slices.Index(w[:], slices.Max(w[:])); later > sum {
		sum, most = later, fromFirsts
	}
	return min(sum, eprocess.EValueCap), most
}

// contest is the state of one two-sample test.
type contest struct {
	eprocess.Staked
	// Candidate are the candidate's units in the test, Monolith the monolith's over the same time.
	Candidate seen `json:"c"`
	Monolith  seen `json:"m"`
}

// block plays one block of the monolith's units and the candidate's.
func (c *contest) block(m, n seen, guess, slack float64) {
	c.Monolith, c.Candidate = c.Monolith.plus(m), c.Candidate.plus(n)
	if m.N > 0 && n.N > 0 {
		odds := eprocess.NewOdds(guess, slack, m.N, n.N)
		c.Play(func(a *eprocess.Arms) { a.Block(odds, m.Bad, m.N-m.Bad, n.Bad, n.N-n.Bad) })
	}
}

func (s seen) plus(o seen) seen { return seen{s.N + o.N, s.Bad + o.Bad} }

// tally counts responses, and of those that are not bad the ones above a latency.
func tally(list []response, limit float64) (all, slow seen) {
	for _, a := range list {
		if all.add(a.Bad); !a.Bad {
			slow.add(float64(a.Latency) > limit)
		}
	}
	return all, slow
}

// alone plays one response against a fixed limit.
func (c *contest) alone(bad bool, limit float64) {
	c.Candidate.add(bad)
	if b := int(eprocess.Indicator(bad)); limit < eprocess.LimitMost {
		c.Play(func(a *eprocess.Arms) { a.Single(limit, b, 1-b) })
	}
}

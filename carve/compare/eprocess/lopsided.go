package eprocess

import "math"

// lopsidedStakes are the parts of the wealth that are bet, from halves of it.
var lopsidedStakes = [...]float64{0.98, 0.5}

// Lopsided tests by betting that of two sides the first is odd alone more often than the
// second. It is for oddities that come late and rarely: what a round without one costs is small,
// and a k-th of them comes upon a fresh stake of 1/(k(k+1)), so that neither many
// rounds nor some earlier oddities have used the wealth up.
//
// Hypothesis: given the past, the first side is odd alone in a round with a
// probability of at most the second's plus allowance. Then (1 + λg)·(1 − λ·allowance), with g
// 1 where the first is odd and −1 where the second is, has expectation at most 1 for
// any λ in [0, 1], and so has a mixture of stakes begun at any times chosen from the past;
// the wealth reaches 1/alpha with a chance of at most alpha (Ville's inequality).
type Lopsided struct {
	Staked [len(lopsidedStakes)]float64 `json:"staked"`
	Passed
	// Events counts the oddities, Rounds what came since the last, Since what came
	// since the last of the first side's.
	Events int `json:"events"`
	Rounds int `json:"rounds"`
	Since  int `json:"since"`
}

// NewLopsided is a wealth of 1, none of it staked.
func NewLopsided() Lopsided { return Lopsided{Passed: Passed{Peak: 1}} }

// Round takes in so many rounds without an oddity.
func (b *Lopsided) Round(n int) { b.Rounds, b.Since = b.Rounds+n, b.Since+n }

// See settles an oddity of the first side (g = 1) or of the second (−1) at exchange n
// against the level alpha.
func (b *Lopsided) See(g, allowance, alpha float64, n int) {
	b.Events++
	k := float64(b.Events)
	fresh := 1 / (k * (k + 1)) / float64(len(lopsidedStakes))
	sum := 1 / (k + 1) // not staked yet
	for i, l := range lopsidedStakes {
		b.Staked[i] = bounded((b.Staked[i]*math.Pow(1-l*allowance, float64(b.Rounds)) + fresh) * (1 + l*g))
		sum += b.Staked[i]
	}
	b.Rounds = 0
	if g > 0 {
		b.Since = 0
	}
	b.Pass(sum, alpha, n)
}

// Void takes back what was won, as Bets.Void does.
func (b *Lopsided) Void() {
	b.Staked, b.Passed = [len(lopsidedStakes)]float64{}, Passed{Peak: 1}
}

// Lately reports whether the first side was odd in the last n rounds.
func (b *Lopsided) Lately(n int) bool { return b.Events > 0 && b.Since < n && b.Staked[0] > 0 }

package eprocess

import (
	"math"
	"slices"
)

// Style is how a bettor stakes a wealth: at a few parts of it at once. Small parts find small effects in
// long runs, and those near 1 find plain ones in a dozen rounds. The mixture loses at most the logarithm
// of their number to the best of them.
type Style int

// The styles.
const (
	// Steady bets on what any round may show.
	Steady Style = iota
	// Bold bets on rare and strong evidence: a few e-values decide, and a few losses do not end the test.
	Bold
	// Late bets on late and rare evidence. The k-th e-value meets a fresh stake of 1/(k(k+1)), so
	// neither many rounds nor earlier e-values have used the wealth up.
	Late
)

// styles has each style's stakes and the part of the first wealth behind each of them. The rest is kept
// back, and 1/(r+hold) of it is staked in round r. Simulations: TestALateEffectIsStillShown,
// TestTableOfGuards, TestAWeekOfOddities.
var styles = [...]struct {
	stakes, parts []float64
	hold          float64
}{
	Steady: {[]float64{0.01, 0.03, 0.08, 0.18, 0.35, 0.6, 0.85, 0.98}, slices.Repeat([]float64{0.75 / 8}, 8), 64},
	Bold:   {[]float64{0.999, 0.6, 0.2, 0.05}, []float64{0.7, 0.1, 0.1, 0.02}, 64},
	Late:   {[]float64{0.98, 0.5}, []float64{0, 0}, 1},
}

const (
	// Suspected is the e-value from which an undecided difference is suspected: it is shown and prevents
	// EQUIVALENT. By chance a test reaches it in at most 1 of 20 runs.
	Suspected = 20
	// EValueCap bounds the e-values shown. It is above what any attempt's level asks for.
	EValueCap = 1e12
)

// Bets is a test by betting: the wealth of a bettor who starts with 1 and stakes parts of it on
// e-values, whose expectation is at most 1 given the past under the hypothesis. Then that of
// 1 + λ(e − 1) is too, for any λ in [0, 1], so the chance that the wealth ever reaches 1/alpha is at
// most alpha (Ville's inequality), however often one looks. A part may be kept back and staked little
// by little, so that a candidate that changes late meets bets that the past has not used up. Only what
// is above 1 wins; a bettor who does not know the direction learns it and turns the payoff.
//
// Source: Ramdas, Grünwald, Vovk, Shafer 2023, Game-theoretic statistics and safe anytime-valid
// inference; Shekhar and Ramdas 2023, arXiv 2112.09162; Vovk and Wang 2021, arXiv 1912.06116.
type Bets struct {
	Style  Style      `json:"style,omitempty"`
	Staked [8]float64 `json:"staked"` // of each of the style's stakes
	// Cash is what has not been staked yet.
	Cash float64 `json:"cash"`
	// Now is the wealth.
	Now float64 `json:"now"`
	Passed
	// Rounds counts the e-values that were not 1.
	Rounds int `json:"rounds"`
}

// Passed is how far a wealth has come.
type Passed struct {
	// Peak is the highest so far. Ville's inequality is about it.
	Peak float64 `json:"peak"`
	// At is the exchange at which the wealth passed 1/alpha; 0: not yet.
	At int `json:"at"`
}

// Pass takes in the wealth after exchange n.
func (p *Passed) Pass(wealth, alpha float64, n int) {
	if p.Peak = max(p.Peak, wealth); p.At == 0 && wealth*alpha >= 1 {
		p.At = n
	}
}

// Decided reports whether the evidence has passed its level.
func (p *Passed) Decided() bool { return p.At > 0 }

// EValue is the highest wealth so far, bounded to be shown.
func (p *Passed) EValue() float64 { return min(p.Peak, EValueCap) }

// NewBets is a steady bettor with a wealth of 1.
func NewBets() Bets { return Steady.New() }

// New is a bettor of a style with a wealth of 1.
func (s Style) New() Bets {
	b := Bets{Style: s, Now: 1, Passed: Passed{Peak: 1}, Cash: 1}
	for i, p := range styles[s].parts {
		b.Staked[i] = p
		b.Cash = max(0, b.Cash-p)
	}
	return b
}

// Bet settles a payoff in [-1, 1], of expectation at most 0, at exchange n against the level alpha. A
// payoff that is not a number counts as 0.
func (b *Bets) Bet(g, alpha float64, n int) { b.See(1+Clamp(g), alpha, n) }

// See settles an e-value at exchange n against the level alpha.
func (b *Bets) See(e, alpha float64, n int) {
	if e == 1 || math.IsNaN(e) {
		return
	}
	b.Rounds++
	of := &styles[b.Style]
	fresh := b.Cash / (float64(b.Rounds) + of.hold)
	b.Cash -= fresh
	fresh /= float64(len(of.stakes))
	sum := b.Cash
	for i, l := range of.stakes {
		// No run is long enough to overflow. Giving money away never helps a false alarm.
		b.Staked[i] = min(math.MaxFloat32, (b.Staked[i]+fresh)*(1+l*(e-1)))
		sum += b.Staked[i]
	}
	b.Now = sum
	b.Pass(sum, alpha, n)
}

// SeeShare settles whether an event came, under the hypothesis that its chance is at most p. With a p of
// 0 a single event decides; a p of 1 allows every event.
func (b *Bets) SeeShare(event bool, p, alpha float64, n int) {
	b.See(Indicator(event)/max(1e-9, min(1, p)), alpha, n)
}

// Allow takes the cost of rounds without a bet, in each of which the payoff may have had an expectation
// of up to a, from the stakes.
func (b *Bets) Allow(a float64, rounds int) {
	b.Now = b.Cash
	for i, l := range styles[b.Style].stakes {
		b.Staked[i] = b.Staked[i] * math.Pow(1-l*a, float64(rounds))
		b.Now += b.Staked[i]
	}
}

// CapAt throws away the wealth above most. That is no gain for anybody, so the guarantee stays, and what
// is thrown away need not be lost bet by bet.
func (b *Bets) CapAt(most float64) {
	if b.Now <= most {
		return
	}
	part := most / b.Now
	for i := range b.Staked {
		b.Staked[i] = b.Staked[i] * part
	}
	b.Cash *= part
	b.Now = most
}

// Void takes back what was won, where the bets were on something else. Losses stay, and throwing a gain
// away is no gain, so the guarantee stays.
func (b *Bets) Void() {
	b.CapAt(1)
	b.Passed = Passed{Peak: 1}
}

// Indicator is 1 where an event came, else 0.
func Indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Sign is 1 above 0, -1 below, and 0 for 0 and for what is not a number.
func Sign(x float64) float64 { return Indicator(x > 0) - Indicator(x < 0) }

// Ratio is the share of k in n, 0 of none.
func Ratio(k, n int) float64 { return float64(k) / float64(max(1, n)) }

// Clamp limits a payoff to [-1, 1].
func Clamp(g float64) float64 { return max(-1, min(1, g)) }

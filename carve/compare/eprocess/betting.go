package eprocess

import "math"

// Bets of fixed size, as parts of the wealth. Small ones find small effects in
// long runs, those near 1 find plain ones in a dozen rounds; the mixture loses
// to the best of them by no more than the logarithm of their number.
var stakes = [...]float64{0.01, 0.03, 0.08, 0.18, 0.35, 0.6, 0.85, 0.98}

const (
	// A wealth is kept within these bounds, so that no run is long enough to
	// leave the floats. Both give money away or leave a bankrupt bet at zero,
	// which never helps a false alarm.
	wealthCap   = 1e150
	wealthFloor = 1 / wealthCap
	// cashPart of the first wealth is kept back; in round r the part
	// 1/(r+cashRounds) of what is left of it is staked.
	cashPart   = 0.25
	cashRounds = 64
	// EValueCap bounds the e-values that are shown: above what any attempt's level asks for.
	EValueCap = 1e12
)

// Bets is a test by betting: the wealth of a bettor who starts with 1 and
// stakes parts of it on payoffs in [-1, 1], each of which has expectation at
// most 0 given the past if the null hypothesis holds. Then the chance that the
// wealth ever reaches 1/alpha is at most alpha (Ville's inequality), however
// often one looks. The bettor spreads the first wealth evenly over the fixed
// stakes; a quarter is kept back and staked little by little, so that a
// candidate that changes late meets bets that a long past without differences has not used up.
// Only positive payoffs win: whoever does not know the direction learns it from
// the past and turns the payoff.
//
// Source: Ramdas, Grünwald, Vovk, Shafer 2023, Game-theoretic statistics and
// safe anytime-valid inference; Shekhar and Ramdas 2023, arXiv 2112.09162.
type Bets struct {
	Staked [len(stakes)]float64 `json:"staked"`
	// Cash is what has not been staked yet.
	Cash float64 `json:"cash"`
	// Now is the wealth.
	Now float64 `json:"now"`
	Passed
	// Rounds counts the payoffs that were not zero.
	Rounds int `json:"rounds"`
}

// Passed is how far a wealth has come.
type Passed struct {
	// Peak is the highest so far, which is what Ville's inequality is about.
	Peak float64 `json:"peak"`
	// At is the exchange at which it passed 1/alpha; 0: not yet.
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

// DecidedAt is the exchange at which it did; 0: not yet.
func (p *Passed) DecidedAt() int { return p.At }

// EValue is the highest wealth so far, bounded so that it can be shown.
func (p *Passed) EValue() float64 { return min(p.Peak, EValueCap) }

// NewBets is a bettor with a wealth of 1 who has not bet yet.
func NewBets() Bets {
	b := Bets{Now: 1, Passed: Passed{Peak: 1}, Cash: cashPart}
	for i := range b.Staked {
		b.Staked[i] = (1 - cashPart) / float64(len(stakes))
	}
	return b
}

// Bet settles a payoff in [-1, 1] at exchange n against the level alpha. A
// payoff that is not a number counts as 0.
func (b *Bets) Bet(g, alpha float64, n int) {
	if g == 0 || math.IsNaN(g) {
		return
	}
	g = Clamp(g)
	b.Rounds++
	fresh := b.Cash / float64(b.Rounds+cashRounds)
	b.Cash -= fresh
	fresh /= float64(len(stakes))
	sum := b.Cash
	for i, l := range stakes {
		b.Staked[i] = bounded((b.Staked[i] + fresh) * (1 + l*g))
		sum += b.Staked[i]
	}
	b.Now = sum
	b.Pass(sum, alpha, n)
}

// CapAt throws away what the wealth is above most. That is no gain for anybody, so
// the guarantee stays; what is forgotten need not be lost again bet by bet.
func (b *Bets) CapAt(most float64) {
	if b.Now <= most {
		return
	}
	part := most / b.Now
	for i := range b.Staked {
		b.Staked[i] = bounded(b.Staked[i] * part)
	}
	b.Cash *= part
	b.Now = most
}

// Void takes back what was won, where the bets turned out to have been on something
// else. What was lost stays so, and to throw a gain away is none, so the guarantee stays.
func (b *Bets) Void() {
	b.CapAt(1)
	b.Passed = Passed{Peak: 1}
}

func bounded(w float64) float64 {
	if w < wealthFloor {
		return 0
	}
	return min(w, wealthCap)
}

// Valid reports whether the state could have come from play.
func (b *Bets) Valid() bool {
	return validWealth(b.Staked[:], b.Peak, b.At, b.Rounds) && b.Cash >= 0 && b.Cash <= cashPart && b.Now >= 0 && b.Now <= b.Peak
}

// validWealth reports whether restored parts of a wealth, with its peak, could have come from play.
func validWealth(parts []float64, peak float64, at, rounds int) bool {
	for _, w := range parts {
		if !(w >= 0 && w <= wealthCap) {
			return false
		}
	}
	return peak >= 1 && peak <= 2*float64(len(parts))*wealthCap && at >= 0 && rounds >= 0
}

// Excess tests by betting that an event comes in more than a share p of the
// rounds. Under the null hypothesis "at most p, given the past", the likelihood
// ratio of a share q > p to p has expectation at most 1; the wealth is spread
// over a few q.
type Excess struct {
	Wealth [len(shares)]float64 `json:"w"`
	Cash   float64              `json:"cash"`
	Rounds int                  `json:"rounds"`
	Passed
}

// shares are the alternatives, from p (0) to always (1).
var shares = [...]float64{0.01, 0.03, 0.1, 0.3, 0.6, 0.95}

// NewExcess is a wealth of 1 before the first round.
func NewExcess() Excess {
	e := Excess{Passed: Passed{Peak: 1}, Cash: cashPart}
	for i := range e.Wealth {
		e.Wealth[i] = (1 - cashPart) / float64(len(shares))
	}
	return e
}

// See settles one round at exchange n. p is held within (0, 1): with a p of 0
// a single event decides.
func (e *Excess) See(event bool, p, alpha float64, n int) {
	p = max(1e-9, min(0.999, p))
	e.Rounds++
	fresh := e.Cash / float64(e.Rounds+cashRounds)
	e.Cash -= fresh
	fresh /= float64(len(shares))
	sum := e.Cash
	for i, share := range shares {
		q := p + (1-p)*share
		f := (1 - q) / (1 - p)
		if event {
			f = q / p
		}
		e.Wealth[i] = bounded((e.Wealth[i] + fresh) * f)
		sum += e.Wealth[i]
	}
	e.Pass(sum, alpha, n)
}

// Indicator is 1 where an event came and 0 where it did not.
func Indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Clamp draws a payoff into [-1, 1].
func Clamp(g float64) float64 { return max(-1, min(1, g)) }

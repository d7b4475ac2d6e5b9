package eprocess

import "math"

// MaxEValue caps what is shown: JSON has no infinity.
const MaxEValue = 1e300

// LogSum is log(exp(a) + exp(b)).
func LogSum(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

// stakeEvery is how many plays lie between two fresh stakes.
const stakeEvery = 8

// Staked keeps a test awake. A bet that has run through thousands of good
// responses has lost its wealth and would need as many bad ones to win it back;
// so half of the first wealth is kept, and staked bit by bit as time goes on.
// The k-th bit is 1/(2·L(k)) − 1/(2·L(k+1)) with L(k) = 1 + log(k): the bits
// add up to a half, so the whole is still an e-process, and a candidate that
// breaks after n plays is found at a price of no more than about
// log(n) + 2·log(log(n)) in evidence. (A mixture over the time of the change;
// compare Shin, Ramdas & Rinaldo 2022, arXiv 2203.03532.)
type Staked struct {
	Arms  Arms `json:"arms"`
	Plays int  `json:"plays"`

	logE   float64 // logEValue after so many plays
	logEAt int
}

// Play lets the arms bet once more.
func (s *Staked) Play(bet func(*Arms)) {
	if s.Plays++; s.Plays%stakeEvery == 0 {
		k := s.Plays / stakeEvery
		fresh := math.Log(1/unstaked(k) - 1/unstaked(k+1))
		for i := range s.Arms {
			s.Arms[i] = LogSum(s.Arms[i], fresh)
		}
	}
	bet(&s.Arms)
}

func unstaked(k int) float64 { return 1 + math.Log(float64(max(1, k))) }

// LogEValue is the logarithm of the wealth staked and kept.
func (s *Staked) LogEValue() float64 {
	if s.logEAt != s.Plays {
		kept := -math.Log(unstaked(s.Plays/stakeEvery + 1))
		s.logE, s.logEAt = LogSum(s.Arms.LogEValue(), kept)-math.Ln2, s.Plays
	}
	return s.logE
}

// Most is a number that the e-value does not exceed, without the logarithms and
// exponentials that the e-value itself takes: the best arm's wealth, or 1. A candidate
// that is as good as the monolith is told from one that may have to be stopped by it, and
// that is asked after every response.
func (s *Staked) Most() float64 {
	top := 0.0
	for _, l := range s.Arms {
		top = max(top, l)
	}
	if top == 0 {
		return 1
	}
	return math.Exp(top)
}

// AsNumber is the e-value as a number that JSON can hold.
func AsNumber(logE float64) float64 {
	return min(math.Exp(min(logE, 700)), MaxEValue)
}

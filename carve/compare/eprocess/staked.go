package eprocess

import "math"

// LogSum is log(exp(a) + exp(b)).
func LogSum(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

const (
	// stakeEvery is how many plays lie between two fresh stakes.
	stakeEvery = 8
	// kept is the part of the first wealth that is kept for later: of a quarter, a candidate that
	// breaks at once and one that breaks after 5,000 plays are found equally soon
	// (TestGuardDetection).
	kept = 0.25
)

// Staked keeps a test awake. A bet that has run through thousands of good
// responses has lost its wealth and would need as many bad ones to win it back;
// so a part of the first wealth is kept, and staked bit by bit as time goes on.
// The k-th bit is kept/L(k) − kept/L(k+1) with L(k) = 1 + log(k): the bits
// add up to kept, so the whole is still an e-process, and a candidate that
// breaks after n plays is found at a price of no more than about
// log(n) + 2·log(log(n)) in evidence. (A mixture over the time of the change;
// compare Shin, Ramdas & Rinaldo 2022, arXiv 2203.03532.)
type Staked struct {
	// Arms have 1 at first, for what is not kept.
	Arms  Arms `json:"arms"`
	Plays int  `json:"plays"`
}

// Play lets the arms bet once more.
func (s *Staked) Play(bet func(*Arms)) {
	if s.Plays++; s.Plays%stakeEvery == 0 {
		k := s.Plays / stakeEvery
		fresh := math.Log(kept / (1 - kept) * (1/unstaked(k) - 1/unstaked(k+1)))
		for i := range s.Arms {
			s.Arms[i] = LogSum(s.Arms[i], fresh)
		}
	}
	bet(&s.Arms)
}

func unstaked(k int) float64 { return 1 + math.Log(float64(max(1, k))) }

// LogEValue is the logarithm of the wealth staked and kept.
func (s *Staked) LogEValue() float64 {
	return LogSum(s.Arms.LogEValue()+math.Log1p(-kept), math.Log(kept/unstaked(s.Plays/stakeEvery+1)))
}

// AsNumber is the e-value as a number that can be shown.
func AsNumber(logE float64) float64 { return math.Exp(min(logE, math.Log(EValueCap))) }

package whittle

import "time"

// Recheck is what both sides said when they were asked again about an exchange
// in which they differed. Its rounds are in order; the first ones follow at once
// and the later ones after some seconds, so that a candidate that lags behind is
// distinguished from one that is wrong.
type Recheck struct {
	Exchange *Exchange
	Rounds   []Round
}

// Round is one repeat of a request on both sides.
type Round struct {
	// After is the time since the exchange.
	After time.Duration
	// Monolith and Candidate are the responses, mapped as the exchange's are.
	Monolith, Candidate Response
}

// Observation is what became of one exchange that was shown to a judge.
type Observation struct {
	// Skip is the ledger's reason why the exchange was not compared; empty: it
	// was.
	Skip string
	// Counted says that the exchange's fate is in the ledger with the evidence,
	// so that nobody else counts it.
	Counted bool
	// Differs says that the two responses are not the same, that nobody declared
	// the difference, and that the monolith does not change there by itself.
	Differs bool
	// Early says that they differ, before enough requests were repeated to learn
	// what the monolith changes by itself.
	Early bool
	// Ask says that the difference is worth asking both sides about again.
	Ask bool
	// Repeated says that the monolith was asked twice, SelfDiffers that it then
	// differed from itself where nothing is declared.
	Repeated, SelfDiffers bool
	// Steady says that they differ, undeclared, at a place where the monolith varies
	// never or seldom. Noise is no excuse there for a candidate that differs as a rule.
	Steady bool
	// SelfSteady says that the monolith then differed from itself at such a place.
	SelfSteady bool
}

// Pair is one request that both sides were asked, as the guards see it.
type Pair struct {
	// User distinguishes users: a hash of the sticky key. 0: not known.
	User uint64
	At   time.Time
	// First says which side was asked first; the user got that one's response, or
	// the monolith's where the candidate failed.
	First Side
	// Monolith and Candidate are both sides' outcomes of the same request.
	Monolith, Candidate Outcome
	// Compared says that the two responses were compared; Differs, Repeated,
	// SelfDiffers, Steady and SelfSteady are then the observation's.
	Compared                                           bool
	Differs, Repeated, SelfDiffers, Steady, SelfSteady bool
}

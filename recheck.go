package whittle

import "time"

// Recheck has both sides' responses when they were asked again about a difference. The
// first rounds follow at once, later ones after some seconds, which distinguishes a
// candidate that lags from one that is wrong.
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

// Observation is the judge's result for one exchange.
type Observation struct {
	// Skip is the ledger's reason why the exchange was not compared. Empty: it was.
	Skip string
	// Counted says that the exchange's fate is in the ledger with the evidence,
	// so that nobody else counts it.
	Counted bool
	// Differs says that the two responses are not the same, that nobody declared
	// the difference, and that the monolith does not change there by itself.
	Differs bool
	// Early says that they differ, but that too few requests have been repeated to know what
	// the monolith changes by itself.
	Early bool
	// Ask says that both sides should be asked again about the difference.
	Ask bool
	// Seldom is at how many places of the bodies the monolith changes seldom, if the two differ at one
	// of these; 0: they do not.
	Seldom int
	// Repeated says that the monolith was asked twice. SelfDiffers says that its two responses
	// had a difference that is not declared, SelfSeldom that they had one where it changes seldom.
	Repeated, SelfDiffers, SelfSeldom bool
}

// Pair is one request that went to both sides, as the guards see it.
type Pair struct {
	// User distinguishes users: a hash of the sticky key. 0: not known.
	User uint64
	At   time.Time
	// First is the side that was asked first. The user got its response, or the monolith's
	// if the candidate failed.
	First Side
	// Monolith and Candidate are both sides' outcomes of the same request.
	Monolith, Candidate Outcome
	// Compared says that the two responses were compared. The others are then those of the
	// observation.
	Compared, Differs                 bool
	Seldom                            int
	Repeated, SelfDiffers, SelfSeldom bool
}

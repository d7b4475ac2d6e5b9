package eprocess

// The error rate of a rollout, α, is 1 − confidence: with what probability an equal candidate is
// taken back, however long the rollout lasts and however often one looks. This is the table of who
// may spend which part of it. Each test is held to its own part for all times (Ville's
// inequality), so α is at most the sum, whatever ties the tests together.
//
// With both confidences at 99 % an equal candidate is taken back in at most 1 of 100 rollouts, by
// its verdict or by a guard.
const (
	// OfGuards is the guards' part, which is split evenly over those that are set, and over
	// attempts by OfAttempts.
	OfGuards = 0.4

	// The verdict's: where the monolith was asked first, where the candidate was, and what
	// asking again has shown.
	OfMirrored   = 0.36
	OfServed     = 0.04
	OfReproduced = 0.04
	OfKept       = 0.025
	OfSecond     = 0.045
	OfFirst      = 0.045
	OfLopsided   = 0.045
)

// Parts of OfMirrored and of OfServed: bodies, and each of status, content type, failure and the
// two of headers.
const (
	OfBodies = 0.80
	OfHead   = 0.04
)

// OfIntervals is the level of each interval of bodies that EQUIVALENT stands on. It is no part of the
// above: EQUIVALENT is wrong only if one of them is.
const OfIntervals = 0.85

// Parts of OfBodies where they should be the same: over single places
// (the j-th of which has 1/(j(j+1)) of it) and of the form of what varies.
const (
	OfPlaces = 0.8
	OfForms  = 0.2
)

// Parts of OfBodies where their numbers are random.
const (
	OfMean         = 0.20
	OfSpread       = 0.20
	OfDistribution = 0.20
	OfRepeats      = 0.15
	OfWrong        = 0.20
	OfUnreadable   = 0.025
	OfWording      = 0.025
)

// Parts of a guard's level: what its evidence is held to, and the bounds on what is known of
// the monolith.
const (
	OfEvidence  = 0.9
	OfReference = 0.1
)

// OfAttempts is the part of an error rate that the i-th attempt at a rollout may spend, from 1:
// four fifths for the first and 1/(5i(i−1)) for each i from 2, which make 1 in all.
func OfAttempts(i int) float64 {
	if i == 1 {
		return 0.8
	}
	return 0.2 / (float64(i) * float64(i-1))
}

// Alpha is the error rate that a confidence leaves; 1 % for one that is not within 0
// and 1.
func Alpha(confidence float64) float64 {
	if confidence <= 0 || confidence >= 1 {
		return 0.01
	}
	return 1 - confidence
}

package eprocess

// The error rate of a rollout, α, is 1 − confidence: with what probability an equal candidate is
// taken back, however long the rollout lasts and however often one looks. This is the table of who
// may spend which part of it. Each test is held to its own part for all times (Ville's
// inequality), so α is at most the sum, whatever ties the tests together.
//
// With both confidences at 99 % an equal candidate is taken back in at most 1 of 100 rollouts, by
// its verdict or by a guard. The split matters little: a bet with half the part needs twice the wealth.
const (
	// OfGuards is the guards' part, which is split evenly over those that are set, and over
	// attempts by OfAttempts. TestTableOfGuards has what it comes to.
	OfGuards = 0.4
	// OfRest is that of each of six: the verdict where the candidate was asked first, and the five bets
	// on what asking again has shown. OfMirrored is what is left, the verdict's where the monolith was.
	OfRest     = 0.04
	OfMirrored = 1 - OfGuards - 6*OfRest

	// OfMain is the part of a whole that the likeliest has: of a verdict bodies, of bodies differences
	// at single places (OfNth), of a rollout the first attempt. The form of what varies has the rest of bodies.
	// OfHead, the rest of a verdict, is split evenly over status, content type, failure and the two of headers.
	OfMain = 0.8
	OfHead = (1 - OfMain) / 5

	// OfRandom is the part of bodies whose numbers are random that each of seven tests has: mean,
	// spread, distribution, repeats, wrong values, what cannot be read and what stands around.
	OfRandom = 1.0 / 7

	// OfReference is the part of a guard's level for the bounds on what is known of the monolith;
	// its evidence is held to the rest.
	OfReference = 0.1
)

// OfAttempts is the part of an error rate that the i-th attempt at a rollout may spend, from 1:
// four fifths for the first and 1/(5i(i−1)) for each i from 2, which make 1 in all.
func OfAttempts(i int) float64 {
	if i == 1 {
		return OfMain
	}
	return OfNth(1-OfMain, i-1)
}

// OfNth is the part of alpha that the k-th of things may spend of which nobody knows how many will
// come, from 1: alpha/(k(k+1)), which make alpha in all.
func OfNth(alpha float64, k int) float64 { return alpha / (float64(k) * float64(k+1)) }

// Alpha is the error rate that a confidence leaves; 1 % for one that is not within 0
// and 1.
func Alpha(confidence float64) float64 {
	if confidence > 0 && confidence < 1 {
		return 1 - confidence
	}
	return 0.01
}

package eprocess

// α = 1 − confidence is the error rate of a rollout: the probability that an equal candidate is ever
// taken back, however long the rollout lasts and however often one looks. This table says who may spend
// which part of it. Each test keeps to its part for all times (Ville's inequality), so α is at most the
// sum, however the tests depend on each other.
//
// With both confidences at 99 %, an equal candidate is taken back in at most 1 of 100 rollouts, by its
// verdict or by a guard. The split matters little: a bet with half the part needs twice the wealth. A part
// is split further where it is spent: over marks by match.markAlpha, over forms by Forms.See.
const (
	// OfGuards is the guards' part, split evenly over those that are set and over attempts by
	// OfAttempts. TestTableOfGuards has the outcome.
	OfGuards = 0.4
	// OfRest is the part of each of six: the verdict where the candidate was asked first, and the five
	// bets on rechecks. OfMirrored is left for the verdict where the monolith was asked first.
	OfRest     = 0.04
	OfMirrored = 1 - OfGuards - 6*OfRest

	// OfMain is the likeliest's part of a whole: of a verdict bodies, of bodies differences at single
	// places (OfNth), of a rollout the first attempt. The form of what varies has the rest of bodies.
	// OfHead is the rest of a verdict, split evenly over status, content type, failure and the two of
	// headers.
	OfMain = 0.8
	OfHead = (1 - OfMain) / 5

	// OfRandom is the part of bodies with random numbers that each of seven tests has: mean, spread,
	// distribution, repeats, wrong values, unreadable responses, and what stands around the number.
	OfRandom = 1.0 / 7

	// OfReference is a guard's part for bounds on the monolith's rates. Its evidence has the rest.
	OfReference = 0.1
)

// OfAttempts is the part of an error rate that the i-th attempt at a rollout may spend, from 1: four
// fifths for the first and 1/(5i(i−1)) for each later one, 1 in all.
func OfAttempts(i int) float64 {
	if i == 1 {
		return OfMain
	}
	return OfNth(1-OfMain, i-1)
}

// OfNth is the part of alpha for the k-th thing, from 1, where nobody knows how many will come:
// alpha/(k(k+1)), alpha in all.
func OfNth(alpha float64, k int) float64 { return alpha / (float64(k) * float64(k+1)) }

// Alpha is the error rate that a confidence leaves; 1 % for a confidence outside of 0 to 1.
func Alpha(confidence float64) float64 {
	if confidence > 0 && confidence < 1 {
		return 1 - confidence
	}
	return 0.01
}

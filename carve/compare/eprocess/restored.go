package eprocess

// Within reports whether a restored number lies within ±most; NaN does not.
func Within(most float64, list ...float64) bool {
	for _, v := range list {
		if !(v >= -most && v <= most) {
			return false
		}
	}
	return true
}

// UpTo reports whether a restored count k can be one of n.
func UpTo(k, n int) bool { return k >= 0 && k <= n }

// Ratio is the share of k in n; 0 of none.
func Ratio(k, n int) float64 { return float64(k) / float64(max(1, n)) }

// OfAttempts is the part of an error rate that the i-th attempt at a rollout may spend, from 1:
// four fifths for the first and 1/(5i(i−1)) for each i from 2, which make 1 in all.
func OfAttempts(i int) float64 {
	if i == 1 {
		return 0.8
	}
	return 0.2 / (float64(i) * float64(i-1))
}

// Sign is 1 for what is above 0, -1 for what is below, and 0 for what is no number.
func Sign(x float64) float64 { return Indicator(x > 0) - Indicator(x < 0) }

// Alpha is the error rate that a confidence leaves; 1 % for one that is not within 0
// and 1.
func Alpha(confidence float64) float64 {
	if confidence <= 0 || confidence >= 1 {
		return 0.01
	}
	return 1 - confidence
}

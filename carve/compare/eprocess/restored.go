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

// Alpha is the error rate that a confidence leaves; 1 % for one that is not within 0
// and 1.
func Alpha(confidence float64) float64 {
	if confidence <= 0 || confidence >= 1 {
		return 0.01
	}
	return 1 - confidence
}

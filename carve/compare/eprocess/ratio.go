package eprocess

// Ratio is the share of k in n; 0 of none.
func Ratio(k, n int) float64 { return float64(k) / float64(max(1, n)) }

// Sign is 1 for what is above 0, -1 for what is below, and 0 for what is no number.
func Sign(x float64) float64 { return Indicator(x > 0) - Indicator(x < 0) }

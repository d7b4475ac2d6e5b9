package profile

// Lead is the endpoint that asks for most of the CPU, and how certain that is.
type Lead struct {
	// Endpoint has the greatest share. "": no endpoint has any.
	Endpoint string
	// Next has the next greatest. "": there is no other.
	Next string
	// Share is the endpoint's part of the CPU, 0 to 1, and Over how much more
	// that is than Next's part: all of it where there is no other.
	Share, Over float64
	// Unknown is the part of the CPU that belongs to no request that is known.
	Unknown float64
}

// Sure reports whether the endpoint leads wherever the unknown part belongs: to
// the next endpoint, or to one that was not seen at all.
func (l *Lead) Sure() bool { return l.Endpoint != "" && l.Unknown <= l.Over }

// LeadOf compares endpoints, given with the CPU time of each. That of "" belongs
// to no request that is known, and total is the CPU time of all.
func LeadOf(cpu map[string]int64, total int64) Lead {
	l := Lead{Unknown: ratio(cpu[""], total)}
	var first, second int64
	for e, v := range cpu {
		switch {
		case e == "" || v <= 0:
		case v > first || v == first && e < l.Endpoint:
			l.Next, second = l.Endpoint, first
			l.Endpoint, first = e, v
		case v > second || v == second && e < l.Next:
			l.Next, second = e, v
		}
	}
	l.Share, l.Over = ratio(first, total), ratio(first-second, total)
	return l
}

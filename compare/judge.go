// Package compare turns pairs of answers into findings and a verdict. It is
// pure: no I/O, no clock, no goroutine; what it says depends on the exchanges
// alone, in the order in which they came.
package compare

import "whittle"

// Judge compares the two answers of each exchange of one route and says what
// is known of the candidate. It is deterministic and not safe for concurrent
// use.
type Judge struct {
	c      whittle.Comparison
	method method
}

// NewJudge makes the judge of a route. A wrong expression or path is a
// *whittle.Error with code Invalid and Field relative to the route
// ("compare.per").
func NewJudge(c whittle.Comparison) (*Judge, error) {
	m, err := newMethod(c)
	if err != nil {
		return nil, err
	}
	return &Judge{c: c, method: m}, nil
}

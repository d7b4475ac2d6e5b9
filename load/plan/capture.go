package plan

import (
	"slices"

	"whittle/load/expr"
)

// Capture takes a value out of a response: into a variable, or to compare it
// with another (Artillery's match).
type Capture struct {
	Slot    int // of the variable; −1 for a match
	Extract expr.Extractor
	// Body says that the response's body is looked at, not only its headers.
	Body bool
	// Want is what a match compares with.
	Want expr.Template
	// Strict: a response without the value is a failure.
	Strict bool
}

// MaxConditions bounds the captures, matches and expectations of one request.
const MaxConditions = 100

// Expectation is one condition on a response; a failed one counts as an error
// of the kind "expectation".
type Expectation struct {
	// Statuses are those allowed, or with negate those not; nil: any.
	Statuses []int
	Negate   bool
	// Status says that it is about the status, however it is written.
	Status bool
	// Check is a condition of any other kind; nil: none.
	Check func(*expr.Response) bool
	// Body says that check looks at the response's body.
	Body bool
}

// Holds says whether a response meets it.
func (e *Expectation) Holds(a *expr.Response) bool {
	if e.Check != nil {
		return e.Check(a)
	}
	return slices.Contains(e.Statuses, a.Status) != e.Negate
}

package plan

import (
	"slices"

	"whittle/load/expr"
)

// Capture extracts a value from a response: into a variable, or to compare it with
// another (Artillery's match).
type Capture struct {
	Slot    int // of the variable; −1 for a match
	Extract expr.Extractor
	// Body says that it reads the response's body, not only its headers.
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
	// Statuses are those allowed or, with Negate, those refused; nil: any.
	Statuses []int
	Negate   bool
	// Status says that it is about the status, in Statuses or in Check.
	Status bool
	// Check is a condition of any other kind; nil: none.
	Check func(*expr.Response) bool
	// Body says that Check reads the response's body.
	Body bool
}

// Holds reports whether a response meets it.
func (e *Expectation) Holds(a *expr.Response) bool {
	if e.Check != nil {
		return e.Check(a)
	}
	return slices.Contains(e.Statuses, a.Status) != e.Negate
}

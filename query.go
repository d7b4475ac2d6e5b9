package whittle

import "time"

// Query is a guard on a team's own figures in a Prometheus server. It is
// either a test of proportions (Bad and Total) or a limit rule (Value).
type Query struct {
	// Name identifies the query, unique in a route.
	Name string
	// Bad and Total are counters of each side: of bad events, and of all events. Total empty:
	// the query is a limit rule.
	Bad, Total SideQuery
	// Excess is how far the candidate's share of bad events may exceed the monolith's, 0 to
	// 1.
	Excess float64
	// Value is the figure of a limit rule: the candidate's alone, or both sides'.
	Value SideQuery
	// Limit of the candidate's figure, or, if Ratio, of its multiple of the monolith's.
	Limit float64
	Ratio bool
	// Below says that the figure must not be below the limit; otherwise it must not be above.
	Below bool
	// For is how many intervals in a row must be beyond the limit, or without data.
	For int
	// Every is the interval.
	Every time.Duration
	// FallWithoutData takes the users off the candidate after For intervals without data.
	// Otherwise the share stays.
	FallWithoutData bool
}

// Tests reports whether the query is a test of proportions.
func (q *Query) Tests() bool { return q.Total != SideQuery{} }

// SideQuery asks for a figure of each side, in PromQL.
type SideQuery struct {
	// Monolith and Candidate are a query each. Monolith empty: only the candidate has the
	// figure. If Label is set, they are that label's values in the result of Both.
	Monolith, Candidate string
	Both, Label         string
}

// QueryReading is the result of a query at one moment.
type QueryReading struct {
	At time.Time
	// Missing is why there is no reading, as a clause; empty: there is one.
	Missing string
	Bad     SideValues
	// NoBad says that Bad has no series of either side, and so is 0.
	NoBad bool
	Total SideValues
	Value SideValues
}

// SideValues are both sides' figures. NoMonolith and NoCandidate say that a side has none.
type SideValues struct {
	Monolith, Candidate     float64
	NoMonolith, NoCandidate bool
}

// Prometheus is the server that answers queries.
type Prometheus struct {
	// URL has no query: "/api/v1/query" is put behind it.
	URL string
	// Token is sent as a bearer token. Empty: none.
	Token string
	// Timeout bounds a query.
	Timeout time.Duration
}

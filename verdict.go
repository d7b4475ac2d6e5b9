package whittle

import "time"

// State is the judgment of a candidate.
type State string

// The verdicts. A candidate is UNDECIDED until the evidence shows one of the others.
const (
	Undecided  State = "UNDECIDED"
	Equivalent State = "EQUIVALENT"
	Different  State = "DIFFERENT"
)

// FindingKind is the kind of a difference.
type FindingKind string

// The kinds of findings.
const (
	FoundStatus       FindingKind = "status"       // another status code
	FoundContentType  FindingKind = "content_type" // another media type
	FoundHeader       FindingKind = "header"       // another value of a header that is compared, or none
	FoundBody         FindingKind = "body"         // other bytes (exact), or another text around the number (statistical)
	FoundField        FindingKind = "field"        // another JSON field (json)
	FoundForm         FindingKind = "form"         // another form of a value that changes by itself (json)
	FoundMean         FindingKind = "mean"         // another average
	FoundSpread       FindingKind = "spread"       // wider or narrower
	FoundDistribution FindingKind = "distribution" // another distribution
	FoundRepeats      FindingKind = "repeats"      // responses that repeat or depend on each other
	FoundWrongValue   FindingKind = "wrong_value"  // a value the monolith would never give
	FoundUnreadable   FindingKind = "unreadable"   // a response in which no number could be read
	FoundFailure      FindingKind = "failure"      // the candidate gave no response
)

// Finding is one difference that has been shown, or is being counted.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// Path is the JSON path, header or class of requests that differs; empty: the whole
	// response.
	Path string `json:"path,omitempty"`
	// Summary is one plain sentence with the figures in it.
	Summary string `json:"summary"`
	// Cause is a guess at why, where the evidence fits one ("the sum plus
	// 4,294,967,296 fits in 9 of 9: a 32-bit total wrapped"). Empty: none.
	Cause string `json:"cause,omitempty"`
	// Monolith and Candidate are the two sides' figures in words.
	Monolith  string `json:"monolith,omitempty"`
	Candidate string `json:"candidate,omitempty"`
	// Count of Of compared exchanges show it.
	Count int `json:"count"`
	Of    int `json:"of"`
	// Decided says that the evidence suffices at the promised error rate. Until then the
	// finding is a suspicion.
	Decided bool `json:"decided"`
	// DecidedAt is how many exchanges had been compared when it was decided.
	DecidedAt int `json:"decided_at,omitempty"`
	// EValue is the evidence against "no difference"; 1/alpha decides.
	EValue float64 `json:"e_value,omitempty"`
	// Order is "asked first" for a difference that shows only when the candidate is asked
	// before the monolith, as users ask it.
	Order string `json:"order,omitempty"`
	// Asked is what asking both sides again has shown. Nil: nothing was asked.
	Asked *Asked `json:"asked,omitempty"`
	// Expected carries the reason of a declared difference.
	Expected string `json:"expected,omitempty"`
	// Samples are a few exchanges that show it, oldest first.
	Samples []Sample `json:"samples,omitempty"`
}

// AskedFirst is a Finding's Order.
const AskedFirst = "asked first"

// Asked counts the results of asking both sides again about a difference. Each of Times
// counts in one of Reproducible to Noise as well.
type Asked struct {
	Times int `json:"times"`
	// Reproducible: both sides repeated their responses.
	Reproducible int `json:"reproducible"`
	// Intermittent: the candidate's response changed, the monolith's did not.
	Intermittent int `json:"intermittent"`
	// Stale: the candidate repeated its response at first, and agreed within LagMs
	// milliseconds.
	Stale int   `json:"stale"`
	LagMs int64 `json:"lag_ms,omitempty"`
	// Noise: the monolith's own response changed.
	Noise int `json:"noise"`
	// AnotherRequest is in how many the monolith gave the candidate's response to another request
	// or user alone, of late.
	AnotherRequest int `json:"another_request,omitempty"`
}

// Sample is a short form of one exchange, bounded and redacted.
type Sample struct {
	At        time.Time `json:"at"`
	Request   string    `json:"request"`
	Monolith  string    `json:"monolith"`
	Candidate string    `json:"candidate"`
	// Where is the place that differs: "$.items[3].price", "byte 812, line 14,
	// column 9" or a header's name. Empty: the whole response.
	Where string `json:"where,omitempty"`
	// MonolithValue and CandidateValue are the values there; "missing" where there is
	// none. Control characters and other invisible ones are spelt out (␊, ␠ for a
	// space at an end, \u00a0).
	MonolithValue  string `json:"monolith_value,omitempty"`
	CandidateValue string `json:"candidate_value,omitempty"`
}

// Bound is what could still differ without having been seen.
type Bound struct {
	// ID distinguishes a verdict's bounds, and stays the same while the route has the
	// bound. Empty: What is unique.
	ID string `json:"id,omitempty"`
	// What is "mean", "spread", "distribution", "noise" or "share of responses".
	What string `json:"what"`
	// Estimate with its interval Low..High at the promised confidence, in
	// units of the margin (relative mean, ratio of spreads, distance, share).
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// MarginLow and MarginHigh limit the differences that count as none.
	MarginLow  float64 `json:"margin_low"`
	MarginHigh float64 `json:"margin_high"`
	// Inside says that the interval lies within the margin. More estimates how many more exchanges
	// that takes; -1: it cannot be said.
	Inside bool `json:"inside"`
	More   int  `json:"-"`
	// Summary is one plain sentence.
	Summary string `json:"summary"`
}

// Verdict is the judgment of a candidate, with its grounds.
type Verdict struct {
	State State `json:"verdict"`
	// Compared is how many exchanges were compared.
	Compared int `json:"compared"`
	// Errors counts those in which the monolith's status was 400 or above.
	Errors int `json:"errors,omitempty"`
	// Confidence is 1 − the error rate over the whole rollout.
	Confidence float64   `json:"confidence"`
	Findings   []Finding `json:"findings"`
	Bounds     []Bound   `json:"bounds"`
	// MoreNeeded estimates how many more exchanges the decision needs. 0: it is decided.
	// −1: unknown.
	MoreNeeded int `json:"more_needed"`
	// Novelty is the share of the last few hundred requests whose shape had not been
	// compared before, 0 to 1.
	Novelty float64 `json:"novelty"`
	// Coverage says which fields are compared, and how. Nil if the kind of comparison has
	// no fields.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Summary is one plain sentence.
	Summary string `json:"summary"`
}

// Served sums up the exchanges in which the candidate was asked first, so that users got its
// responses.
type Served struct {
	// Compared counts those that were compared. Differing counts those of them with a
	// difference that is neither declared nor explained.
	Compared, Differing int
	// Bound is the upper bound, at any time, on the share that differs.
	Bound float64
	// UserBound is the same bound for users, since sticky routing draws users. Users counts
	// those with a compared response, in either order.
	UserBound float64
	Users     int
	// Seconds is the number of different seconds with a comparison, in either order.
	Seconds int
	// Suspected says that the candidate alone changed its response when both sides were asked
	// again. All of its responses to users are then compared, until enough of them agree.
	Suspected bool
	// Uncompared is the share of the requests that cannot be compared, 0 to 1. Why counts
	// them by the ledger's reasons.
	Uncompared float64
	Why        string
}

// Coverage lists how the fields of a body are compared.
type Coverage struct {
	// ByValue is the number of fields that are compared by value, of those seen in the
	// monolith's responses. AtLeast says that there were more than are counted.
	ByValue int  `json:"by_value"`
	AtLeast bool `json:"at_least,omitempty"`
	// WholeBody says that bodies are compared byte by byte, as one field.
	WholeBody bool `json:"whole_body,omitempty"`
	// Cookies is the number of cookies whose attributes are compared by value. Their values
	// are in ByForm.
	Cookies int `json:"cookies,omitempty"`
	// ByForm are the fields that the monolith changes by itself. Only the form of their
	// values is compared.
	ByForm []FormField `json:"by_form"`
	// NotCompared are the fields that are not compared.
	NotCompared []Uncompared `json:"not_compared"`
	// Summary is all of it in one sentence.
	Summary string `json:"summary"`
}

// Not adds a place that is not compared.
func (c *Coverage) Not(path, reason string) {
	c.NotCompared = append(c.NotCompared, Uncompared{Path: path, Reason: reason})
}

// FormField is a field that is compared by form.
type FormField struct {
	Path string `json:"path"`
	// Form says in words what the monolith's values are: "a new UUID each time".
	Form string `json:"form"`
	// Class is the name of that form in a config; empty: it has none.
	Class string `json:"class,omitempty"`
	// Declared says that the config declares the form.
	Declared bool `json:"declared,omitempty"`
	// Compared is the number of responses in which it was compared.
	Compared int `json:"compared"`
}

// Uncompared is a field that is not compared, and why.
type Uncompared struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

package whittle

import "time"

// State is what is known of a candidate.
type State string

// The verdicts. UNDECIDED is an honest one.
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
	// Path is the JSON path, header or request class it is about; empty: the
	// whole response.
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
	// Decided says that the evidence has passed the error rate that was
	// promised; until then the finding is only a suspicion.
	Decided bool `json:"decided"`
	// DecidedAt is how many exchanges had been compared then.
	DecidedAt int `json:"decided_at,omitempty"`
	// EValue is the evidence against "no difference"; 1/alpha decides.
	EValue float64 `json:"e_value,omitempty"`
	// Order is "asked first" for a difference that was seen where the candidate was
	// asked before the monolith, as users ask it, and not where it was asked after.
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

// Asked counts what came of asking both sides again about a difference. Of Times
// each is one of the others.
type Asked struct {
	Times int `json:"times"`
	// Reproducible: both sides said the same again and again.
	Reproducible int `json:"reproducible"`
	// Intermittent: the candidate said something else than before, the monolith
	// did not.
	Intermittent int `json:"intermittent"`
	// Stale: the candidate stayed what it was at first, and came to agree within
	// LagMs milliseconds.
	Stale int   `json:"stale"`
	LagMs int64 `json:"lag_ms,omitempty"`
	// Noise: the monolith itself said something else than before.
	Noise int `json:"noise"`
	// AnotherRequest counts responses of the candidate that the monolith had given, in
	// the last minutes, only to another request or another user's request. In
	// AnotherKept of them the candidate repeated it each time.
	AnotherRequest int `json:"another_request,omitempty"`
	AnotherKept    int `json:"another_kept,omitempty"`
}

// Sample is one exchange in short, bounded and fit to be shown.
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
	// MonolithAround and CandidateAround are the same with what stands around it.
	MonolithAround  string `json:"monolith_around,omitempty"`
	CandidateAround string `json:"candidate_around,omitempty"`
}

// Bound is what could still differ without having been seen.
type Bound struct {
	// ID distinguishes a verdict's bounds, and is the same as long as the route has
	// the bound. Empty: What does.
	ID string `json:"id,omitempty"`
	// What is "mean", "spread", "distribution", "noise" or "share of responses".
	What string `json:"what"`
	// Estimate with its interval Low..High at the promised confidence, in
	// units of the margin (relative mean, ratio of spreads, distance, share).
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// MarginLow and MarginHigh are what counts as none.
	MarginLow  float64 `json:"margin_low"`
	MarginHigh float64 `json:"margin_high"`
	// Inside says that the interval lies within the margin.
	Inside bool `json:"inside"`
	// Summary is one plain sentence.
	Summary string `json:"summary"`
}

// Verdict is the word on a candidate, with its grounds.
type Verdict struct {
	State State `json:"verdict"`
	// Compared is how many exchanges it stands on.
	Compared int `json:"compared"`
	// Errors counts those of them in which the monolith's status was 400 or above.
	Errors int `json:"errors,omitempty"`
	// Confidence is 1 − the error rate over the whole rollout.
	Confidence float64   `json:"confidence"`
	Findings   []Finding `json:"findings"`
	Bounds     []Bound   `json:"bounds"`
	// MoreNeeded estimates how many more exchanges decide it; 0 where it is
	// decided, −1 where it cannot be said.
	MoreNeeded int `json:"more_needed"`
	// Novelty is the Good–Turing estimate of the share of requests whose shape
	// has not been seen yet, 0 to 1.
	Novelty float64 `json:"novelty"`
	// Coverage says which parts of the bodies it stands on. Nil where the kind of
	// comparison has no fields.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Summary is one plain sentence.
	Summary string `json:"summary"`
}

// Served is what comparing the responses that users got from the candidate has
// shown: exchanges in which it was asked first.
type Served struct {
	// Compared of them, Differing in a way that nobody declared and that is not
	// explained.
	Compared, Differing int
	// Bound is the upper bound, at any time, on the share that differs.
	Bound float64
	// UserBound is the same of users, who are what sticky routing draws: those
	// compared in either order, of whom there were Users.
	UserBound float64
	Users     int
	// Seconds is in how many different seconds responses were compared, in either
	// order.
	Seconds int
	// Suspected says that a moment ago the candidate alone said something else when both sides
	// were asked again, so that all of its responses to users are compared until enough of them agree.
	Suspected bool
	// Uncompared is the share of the requests that could not be compared for what they
	// or their responses are, and Why the ledger's reasons with how many.
	Uncompared float64
	Why        string
}

// Coverage lists how the fields of a body are compared.
type Coverage struct {
	// ByValue is how many fields are compared by value: the different places seen
	// in the monolith's responses. AtLeast says that there were more than are
	// counted.
	ByValue int  `json:"by_value"`
	AtLeast bool `json:"at_least,omitempty"`
	// WholeBody says that bodies are compared byte by byte, as one field.
	WholeBody bool `json:"whole_body,omitempty"`
	// Cookies is how many cookies have their attributes compared by value. Their
	// values are among what is compared by form.
	Cookies int `json:"cookies,omitempty"`
	// ByForm are those that the monolith changes by itself, so that only the form of
	// their values is compared.
	ByForm []FormField `json:"by_form"`
	// NotCompared are those that are not looked at.
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
	// Declared says that the form is the config's, not a learned one.
	Declared bool `json:"declared,omitempty"`
	// Compared is in how many responses.
	Compared int `json:"compared"`
}

// Uncompared is a field that is not compared, and why.
type Uncompared struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

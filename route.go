package whittle

import "time"

// Route is everything that the config says of one endpoint. Package config
// fills in every default, so that no reader needs to know one.
type Route struct {
	// Name identifies the route in state, metrics and verbs: the match as it
	// was written ("POST /Count"), unique in a config.
	Name  string
	Match Match
	// Group names the routes that share their draw and their share with this one: a user is on
	// the candidate for all of them or for none. Empty: users are drawn for the route alone.
	Group string
	// Timeout bounds the monolith's time to the first byte of a response on this route,
	// and a whole mirrored call of it. 0: that of the monolith.
	Timeout time.Duration
	// Candidate is nil for a route that only passes through.
	Candidate *Upstream
	// RPC is nil for a candidate that speaks the monolith's own HTTP.
	RPC *RPC
	// Safe says that the request changes nothing even where its method could,
	// so it may be mirrored, repeated and retried. GET, HEAD and OPTIONS are
	// always safe.
	Safe bool
	// DryRun is the header by which the candidate knows that a mirrored write must not
	// take effect. Nil: writes are not mirrored.
	DryRun  *DryRunHeader
	Mirror  Mirror
	Compare Comparison
	Rollout Rollout
	Guard   Guard
	// Steer says which proxies send users to the candidate. Nil: whittle's own gateway does.
	Steer *Steer
	// Queries are guards on a team's own figures.
	Queries []Query
	// Record is the part of the route's exchanges that are kept in the log of
	// recorded traffic, with or without a candidate.
	Record Share
}

// Match says which requests belong to a route.
type Match struct {
	// Method is upper case; empty matches every method.
	Method string
	// Pattern is a path pattern of net/http's ServeMux without method and
	// host: "/Count", "/users/{id}", "/static/{rest...}".
	Pattern string
	// Header must be present with this value. HeaderName empty: no condition.
	HeaderName, HeaderValue string
}

// Protocol is how an RPC candidate is spoken to.
type Protocol string

// The RPC protocols.
const (
	Twirp     Protocol = "twirp"      // POST, protobuf body
	TwirpJSON Protocol = "twirp+json" // POST, proto3 JSON body
	Connect   Protocol = "connect"    // unary Connect, protobuf body
	GRPC      Protocol = "grpc"       // HTTP/2 with trailers
)

// RPC says how a JSON request becomes a call and its response becomes what the
// monolith's clients expect.
type RPC struct {
	Protocol Protocol
	// Descriptor is a binary FileDescriptorSet.
	Descriptor []byte
	// Method is "package.Service/Method".
	Method string
	// Prefix is put before the procedure's path; "/twirp" for Twirp unless set.
	Prefix string
	// Query and Path give the fields that query parameters and wildcards of the
	// path fill, where they are not called as the field is: "userId" to
	// "owner.id". A parameter that is named here is read where there is a body too.
	Query, Path map[string]string
	// Form gives the fields that a form's pairs fill, where they are not called
	// as the field is.
	Form map[string]string
	// Strict leaves requests that name a field which the message lacks to the monolith.
	// False: such names are left out.
	Strict bool
	// Lossless leaves requests that the message cannot hold exactly to the monolith, such as
	// a null that would become nothing. It is for candidates that ask the monolith themselves,
	// and includes Strict.
	Lossless bool
	// AskedNulls and AskedAbsent are the like of Nulls and Absent, for the body of the request
	// that such a candidate sends.
	AskedNulls, AskedAbsent []string
	// Content is what a request's body is. Empty: JSON.
	Content BodyContent
	// Body names the field that is the whole body: JSON that is no object, or
	// a text. Empty: the body is an object, whose members are the fields.
	Body string
	// Template renders the response from the message by text/template, with the
	// proto field names as in the descriptor: "Counted to {{.Sum}} \n". Empty:
	// the response is JSON.
	Template string
	// Response names the field that is the whole body of the response: as JSON, or
	// as a text where ContentType is not JSON's. Empty: the message is.
	Response string
	// Nulls and Absent are JSON paths of fields of the response: those that are
	// null where they are unset or empty, and those lists, maps and zeros that
	// are left out. All others are left out where they can be unset, and
	// present where they cannot.
	Nulls, Absent []string
	// Words gives the JSON of enum values by their proto name:
	// "STATE_OPEN": "open".
	Words map[string]string
	// ContentType of the mapped response; NoContentType: it has none.
	ContentType string
	// Status of a mapped success.
	Status int
	// Verbatim lets an RPC error carry the response that users get in its place;
	// package transcode says how.
	Verbatim bool
}

// NoContentType is that of a mapped response without a content type, as redirects
// without a body are.
const NoContentType = "none"

// BodyContent is what the body of a request for an RPC candidate is.
type BodyContent string

// What bodies are.
const (
	BodyJSON    BodyContent = ""        // JSON; anything else is the monolith's to answer
	BodyForm    BodyContent = "form"    // application/x-www-form-urlencoded, each pair a field
	BodyIgnored BodyContent = "ignored" // not looked at, whatever it is
)

// DryRunHeader is a header set on mirrored writes.
type DryRunHeader struct{ Header, Value string }

// Mirror bounds what happens alongside the user's request.
type Mirror struct {
	// Sample is the part of the users mirrored, sticky by the rollout's key.
	Sample Share
	// Watch is the part of requests served by the candidate that are also
	// sent to the monolith, so that comparison goes on at a full share.
	Watch Share
	// Queue is how many exchanges may wait; when it is full they are shed.
	Queue int
	// Concurrency is how many mirrored calls run at once.
	Concurrency int
	// MaxBody bounds the copy of each request and response body, in bytes.
	MaxBody int64
	// MaxMemory bounds the bytes held by all copies of the route.
	MaxMemory int64
	// ShedAbove sheds while the monolith's own median latency is above this
	// multiple of what it was without mirroring. 0: never.
	ShedAbove float64
	// RepeatEvery sends one of so many mirrored requests to the monolith a
	// second time to learn noise. 0: never.
	RepeatEvery int
	// Once says that nothing is ever sent to the monolith a second time: no repeat, and
	// no asking again about a difference.
	Once bool
}

// CompareKind is how two responses are compared.
type CompareKind string

// The kinds of comparison.
const (
	Exact       CompareKind = "exact"       // the same bytes
	JSON        CompareKind = "json"        // the same structure and values
	Statistical CompareKind = "statistical" // the same distribution, for responses random by nature
)

// Comparison says what the same response means. Status codes and content types
// are compared always.
type Comparison struct {
	Kind CompareKind
	// AllHeaders compares every end-to-end header of the responses but those of
	// ExceptHeaders and those that servers add (AddedByServers), whose differences
	// are only listed.
	AllHeaders    bool
	ExceptHeaders []string
	// Headers are compared in any case: with AllHeaders in addition to the others, without
	// it they alone. The names are in canonical form, at most MaxHeaders in each
	// list; the content type is always compared.
	Headers []string

	// Ignore lists JSON paths that are not compared: "$.id",
	// "$.items[*].at", "$..etag". For JSON, and around the number of Statistical.
	Ignore []string
	// IgnoreText lists patterns of RE2's syntax: what they match of bodies that are
	// compared as a whole is not compared. For Exact, and for JSON where a body is none.
	IgnoreText []string
	// Unordered lists JSON paths of arrays that are compared as multisets.
	Unordered []string
	// Tolerance is the relative difference of two JSON numbers that counts as
	// equal. 0: numbers must be the same value.
	Tolerance float64
	// LearnNoise ignores paths that the monolith changes by itself.
	LearnNoise bool
	// Forms declares how fields are compared, for JSON. If two paths lead to a field, the first
	// counts. A declaration overrides what was learned.
	Forms []FieldForm

	// Value reads the number from a response: the words "number in the body"
	// (its first number), or an expression over `body` (string) and `json`.
	Value string
	// Per is an expression over `request` (the JSON body), `query`,
	// `header` and `path`; the number is divided by it. Empty: 1.
	Per string
	// Margin says how much difference counts as none.
	Margin Margin

	// Confidence is the chance that a whole rollout's verdict raises no false
	// alarm; 0.99 means at most 1 in 100.
	Confidence float64
	// MaxDiffer is the share of responses that may differ and still be called
	// EQUIVALENT, for Exact and JSON.
	MaxDiffer float64
	// MinCompared is how many exchanges EQUIVALENT needs at least.
	MinCompared int
	// Expect lists the differences that the team accepts on purpose.
	Expect []Expectation
}

// FieldForm is the form that the values of a field have: the name of a class such
// as "uuid" or "time"; "any" for a field that is not compared; "value" for one that
// is compared by value though the monolith changes it by itself.
type FieldForm struct{ Path, Form string }

// Margin bounds the differences of distribution that do not matter.
type Margin struct {
	// Mean is relative to the monolith's mean: 0.005 is half a percent.
	Mean float64
	// Spread is a ratio of spreads above 1: 1.25 lets either side be a quarter
	// wider.
	Spread float64
	// Distribution is the largest distance between the two distribution
	// functions, 0 to 1.
	Distribution float64
}

// Expectation accepts one kind of difference, and keeps it visible.
type Expectation struct {
	// Kind is the finding's kind: "status", "field", "mean"...
	Kind FindingKind
	// Path narrows it to a JSON path or a header. Empty: all of that kind.
	Path string
	// From and To narrow it to one change of value. Empty: any.
	From, To string
	// Reason is shown wherever the difference is.
	Reason string
}

// Sticky says what keeps a user on one side.
type Sticky struct {
	// By is "header", "cookie" or "address".
	By string
	// Name of the header or cookie.
	Name string
}

// Rollout is the policy of shifting.
type Rollout struct {
	// Sink says that a mirror alone feeds the route: whittle sends no user anywhere, and the
	// share stays 0.
	Sink bool
	// Observed says that Envoy alone serves users, at weights of its own, and whittle looks on.
	Observed bool
	// AtProxy says that proxies send users to the candidate, and take a moment for it.
	AtProxy bool
	// Auto shifts on evidence. False: only by hand.
	Auto bool
	// Steps are the shares, rising, the last one the end of the shift.
	Steps []Share
	// Hold is how long each step lasts at least.
	Hold time.Duration
	// MinRequests is how many candidate-served requests a step needs at least.
	MinRequests int
	// Soak is the number of different seconds with a comparison that a rise above the first
	// step needs, so that a fault that comes and goes has shown. 0: none.
	Soak   time.Duration
	Sticky Sticky
	// Harm is the share of the route's requests, 0 to 1, that may get a wrong response. A step
	// must keep the next share times the bound on the share of served responses that differ
	// below it. 0: there is no budget.
	Harm float64
	// Unseen says who serves requests of a shape that was never compared, while
	// the share rises.
	Unseen Unseen
	// Gates are asked before the share rises by itself.
	Gates []Gate
	// Preview lets testers' requests go to the candidate at any share. Nil: none do.
	Preview *Preview
	// Retry is how long after a rollback the route may shift by itself again.
	// 0: only after a promotion by hand.
	Retry time.Duration
}

// Preview says which requests go to the candidate by a signed token, whatever the share
// is. They are a tester's: neither evidence nor exposure.
type Preview struct {
	// Key signs the tokens. It is a secret.
	Key string `json:"-"`
	// AfterRollback lets tokens count after a rollback and a trip, too.
	AfterRollback bool
}

// Unseen is who serves requests of a shape that was never compared.
type Unseen string

// The two policies.
const (
	UnseenShift    Unseen = ""         // whoever the user's requests go to
	UnseenMonolith Unseen = "monolith" // the monolith, until one was compared
)

// Guard says how much worse the candidate may be while users depend on it.
type Guard struct {
	// Errors is the share of bad responses by which the candidate may exceed the
	// monolith. 0.01 is one percent.
	Errors float64
	// P99 is the multiple of the monolith's own 99th percentile that the
	// candidate's may reach. 0: latency is not guarded.
	P99 float64
	// Mismatch is the share of compared exchanges that may differ in a way
	// that is not expected.
	Mismatch float64
	// Confidence is the chance that a rollout with an equal candidate is never
	// rolled back by the sequential guards.
	Confidence float64
	// Consecutive is how many bad responses of the candidate in a row are a hard
	// breach, whatever the statistics say.
	Consecutive int
	// Exposure bounds how many users' requests may be on the candidate without
	// a good response since; what is above goes to the monolith.
	Exposure int
}

package whittle

import "time"

// Hook is the receiver of webhooks.
type Hook struct {
	// URL may itself be a secret: it is never shown or logged.
	URL string `json:"-"`
	// Key signs what is sent. Empty: it is not signed.
	Key string `json:"-"`
	// Timeout bounds one call, with its response.
	Timeout time.Duration
}

// GateMoment is when a gate is asked.
type GateMoment string

// The moments.
const (
	GateFirst    GateMoment = "first"    // before the first users
	GateStep     GateMoment = "step"     // before each further step
	GateLive     GateMoment = "live"     // before the shift is over
	GateRollback GateMoment = "rollback" // while users are on the candidate: it may take them off
)

// Gate lets another system, or a person, decide whether the share may rise by itself. It never
// delays a fall.
type Gate struct {
	// Name identifies the gate, unique in a route, of letters, digits, dots and dashes.
	Name string
	// Before lists the moments at which it is asked.
	Before []GateMoment
	// Hook is called; status 200 opens the gate. Nil: an order opens it.
	Hook *Hook
	// Every is the longest wait between two calls of the hook.
	Every time.Duration
}

// GateStatus says how a gate stands before a route's next step.
type GateStatus struct {
	Name   string     `json:"name"`
	Before GateMoment `json:"before"`
	// Open says that the step does not wait for it.
	Open bool `json:"open"`
	// ByHand says that only an order opens it.
	ByHand bool `json:"by_hand"`
	// Since is when it was first asked about this step. Zero: not yet, because the step waits
	// for something else.
	Since time.Time `json:"since,omitzero"`
	// Asked is how often it was asked; Last is its last response, as a clause.
	Asked int    `json:"asked,omitempty"`
	Last  string `json:"last,omitempty"`
}

// GateAsk is a question to a gate that is due.
type GateAsk struct {
	// ID distinguishes questions within a run: a response to an older one is ignored.
	ID     uint64
	Route  string
	Gate   Gate
	Before GateMoment
	// Open says that the gate has opened already.
	Open bool
	// From and To are the shares of the step, Phase and Since the route's, Generation its
	// position's, Verdict, Compared and Summary the evidence's, Harm the budget's sentence.
	From, To   Share
	Phase      Phase
	Since      time.Time
	Generation uint64
	Verdict    State
	Compared   int
	Summary    string
	Harm       string
}

// EventKind is what an event is about.
type EventKind string

// The kinds of events.
const (
	EventRise     EventKind = "rise"     // more users are on the candidate
	EventFall     EventKind = "fall"     // fewer, or none, by the config
	EventRollback EventKind = "rollback" // none, by a guard, the verdict or an order
	EventTrip     EventKind = "trip"     // none, by the circuit breaker
	EventFinished EventKind = "finished" // the last step has been held
	EventVerdict  EventKind = "verdict"  // the verdict has changed
	EventGate     EventKind = "gate"     // a step waits for a gate
	EventOrder    EventKind = "order"    // an order that moved nobody: hold, resume, reset and the like
)

// EventKinds lists all of them.
var EventKinds = []EventKind{EventRise, EventFall, EventRollback, EventTrip, EventFinished, EventVerdict, EventGate, EventOrder}

// Event is a change that operators may want to hear of.
type Event struct {
	Kind  EventKind
	Route string
	At    time.Time
	// From and To are the shares before and after, Phase the one after.
	From, To Share
	Phase    Phase
	// Reason is one plain sentence.
	Reason string
	// By is "whittle", or who asked for it.
	By         string
	Generation uint64
	Verdict    State
}

// Notice says which events go to a receiver.
type Notice struct {
	// Name identifies it in logs and metrics.
	Name string
	Hook Hook
	// Slack sends the form of Slack's incoming webhooks; otherwise it is JSON.
	Slack bool
	// Events and Routes narrow it. Empty: all.
	Events []EventKind
	Routes []string
}

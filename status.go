package whittle

import (
	"strings"
	"time"
)

// Meter is one guard's reading.
type Meter struct {
	// Name is "errors", "p99", "mismatch" or "cpu".
	Name string `json:"name"`
	// Monolith and Candidate are the two sides' figures: shares for errors and
	// mismatch, milliseconds for p99, microseconds a request for cpu.
	Monolith  float64 `json:"monolith"`
	Candidate float64 `json:"candidate"`
	// Limit is what Candidate may reach at the present Monolith figure.
	Limit float64 `json:"limit"`
	// EValue is the evidence that the limit is passed; Threshold decides.
	EValue    float64 `json:"e_value"`
	Threshold float64 `json:"threshold"`
	// Count is how many of the candidate's answers it stands on; Needed is how
	// many it takes at least before it could ever speak. Those of cpu are
	// intervals.
	Count  int `json:"count"`
	Needed int `json:"needed"`
	// Breached stays set until the guard is reset.
	Breached bool   `json:"breached"`
	Summary  string `json:"summary"`
}

// Phase is where a route's rollout stands.
type Phase string

// The phases.
const (
	PhaseOff        Phase = "off"         // nothing is mirrored, the monolith serves all
	PhaseShadow     Phase = "shadow"      // mirrored and compared, the monolith serves all
	PhaseShift      Phase = "shift"       // the candidate serves a share
	PhaseLive       Phase = "live"        // the last step has been held: the shift is over
	PhaseRolledBack Phase = "rolled_back" // back on the monolith, with the reason kept
)

// Words are the phase as a person reads it.
func (p Phase) Words() string { return strings.ReplaceAll(string(p), "_", " ") }

// Position is what a decision puts in force for one route.
type Position struct {
	// Generation rises with every position of the route and outlives restarts, so
	// that of two positions the later one is known whatever the order they arrive in.
	Generation uint64
	// Zero is the generation of the last decision for a share of 0. A trip of the
	// circuit breaker under an earlier position is known, and over.
	Zero  uint64
	Share Share
	Phase Phase
}

// Harm is the budget of users' responses that may be wrong, and what is known of it
// from responses that users got from the candidate and that were compared. It is a
// statement about the route's mix of users and requests as the hash draws them, at
// the verdict's confidence.
type Harm struct {
	// Budget is Rollout.Harm, a share of the route's requests; 0: there is none.
	Budget float64 `json:"budget"`
	// Compared of the responses that users got from the candidate, Differing of
	// them in a way that nobody declared and that is not explained.
	Compared  int `json:"compared"`
	Differing int `json:"differing"`
	// Users were compared, whoever answered them.
	Users int `json:"users"`
	// Seconds is in how many different seconds responses were compared, whoever
	// was asked first.
	Seconds int `json:"seconds"`
	// Uncompared is the share of the requests that could not be compared for what they
	// or their responses are (too large, not safe), of which nothing is known; Why says
	// how many, by the ledger's reasons.
	Uncompared float64 `json:"uncompared"`
	Why        string  `json:"uncompared_why,omitempty"`
	// Bound is at most which share of the candidate's responses is wrong, 0 to 1,
	// by requests or by users, whichever is larger; Binds says which. What could not
	// be compared counts as wrong.
	Bound float64 `json:"bound"`
	Binds string  `json:"binds"`
	// Spent is the share in force times Bound, Next the next step's share times
	// Bound: what may not pass Budget. Next is 0 where there is no further step.
	Spent float64 `json:"spent"`
	Next  float64 `json:"next"`
	// Needed is how many more compared responses the next step takes if none
	// differs, and Minutes how long that is at the present rate; 0: none, −1: it
	// cannot be said.
	Needed  int     `json:"needed"`
	Minutes float64 `json:"minutes"`
	// Summary is one plain sentence.
	Summary string `json:"summary"`
}

// Decision is one step of a rollout's time line.
type Decision struct {
	At   time.Time `json:"at"`
	From Share     `json:"from"`
	To   Share     `json:"to"`
	// Phase after the decision.
	Phase Phase `json:"phase"`
	// Reason is one plain sentence.
	Reason string `json:"reason"`
	// By is "whittle", or who asked for it.
	By string `json:"by"`
	// Generation is that of the position which the decision leads to.
	Generation uint64 `json:"generation"`
}

// RouteStatus is a read-only snapshot of a route, as the admin API shows it.
type RouteStatus struct {
	Route   string    `json:"route"`
	Phase   Phase     `json:"phase"`
	Share   Share     `json:"share_bp"`
	Percent float64   `json:"share_percent"`
	Held    bool      `json:"held"`
	Since   time.Time `json:"since"`
	// Sink says that a mirror alone feeds the route: the verdict is about responses that no
	// user got, and the share stays 0.
	Sink bool `json:"sink,omitempty"`
	// Holds says what of whittle's promises holds, and what does not, where no user's request
	// passes whittle. Empty: all of them.
	Holds string `json:"holds,omitempty"`
	// Generation is what an order names to be carried out only on what is shown.
	Generation uint64 `json:"generation"`
	Next       string `json:"next"` // what happens next and what it waits for
	// NextShare is what a promotion would reach; 0: there is no further step.
	NextShare Share `json:"next_bp"`
	// Withheld is why a promotion to it would have to be forced. Empty: it would not,
	// or cannot be.
	Withheld string  `json:"withheld,omitempty"`
	Verdict  Verdict `json:"evidence"`
	Ledger   Ledger  `json:"ledger"`
	Guards   []Meter `json:"guards"`
	// Steer is how far proxies have put the share in force. Nil: whittle itself sends users to the
	// candidate.
	Steer *SteerStatus `json:"steer,omitempty"`
	// Gates are those before the next step. Empty: there are none.
	Gates    []GateStatus `json:"gates,omitempty"`
	Harm     Harm         `json:"harm"`
	Timeline []Decision   `json:"timeline"`
	// Monolith and Candidate are what each side did lately, up to this moment:
	// these two alone are not on disk.
	Monolith  Traffic `json:"monolith"`
	Candidate Traffic `json:"candidate"`
}

// Traffic is what one side did over the last ten seconds.
type Traffic struct {
	// PerSecond is users' requests a second.
	PerSecond float64 `json:"per_second"`
	// Mirrored is calls alongside users' requests a second.
	Mirrored float64 `json:"mirrored_per_second"`
	// Errors is the share of bad responses to either, 0 to 1.
	Errors float64 `json:"errors"`
	// P50 and P99 are latencies of responses to either, in milliseconds. 0: no
	// response.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// Past is how a route came to where it is, thinned out to a bounded number of
// points, oldest first. Evidence goes back to where it was begun, traffic to
// the gateway's start.
type Past struct {
	Route    string          `json:"route"`
	Evidence []EvidencePoint `json:"evidence"`
	Traffic  []TrafficPoint  `json:"traffic"`
}

// EvidencePoint is what was known at one moment.
type EvidencePoint struct {
	At       time.Time    `json:"at"`
	State    State        `json:"verdict"`
	Compared int          `json:"compared"`
	Bounds   []BoundPoint `json:"bounds"`
}

// BoundPoint is a Bound without its words.
type BoundPoint struct {
	// ID is the Bound's. Empty in points that an older whittle has saved: the
	// first of a What is then the first of that What among the bounds, and so on.
	ID       string  `json:"id,omitempty"`
	What     string  `json:"what"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// TrafficPoint is both sides' traffic at one moment.
type TrafficPoint struct {
	At        time.Time `json:"at"`
	Share     Share     `json:"share_bp"`
	Monolith  Traffic   `json:"monolith"`
	Candidate Traffic   `json:"candidate"`
}

// Remark is what a gateway sees in its traffic that an operator should know or mend.
type Remark struct {
	// Route is the one that it is about; empty: all.
	Route string `json:"route,omitempty"`
	// Count is how many requests it is about since the gateway began.
	Count int64  `json:"count"`
	Text  string `json:"text"`
}

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
	// Count is how many of the candidate's answers it stands on, of a query how many readings.
	Count int `json:"count"`
	// Breached stays true until the guard is reset.
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
	// Zero is the generation of the last decision for a share of 0. It settles every trip
	// of the circuit breaker under an earlier position.
	Zero  uint64
	Share Share
	Phase Phase
}

// Harm is the budget of wrong responses to users, and how much of it may be spent. The
// evidence is those responses of the candidate to users that were compared. The bound holds
// at the verdict's confidence, for the mix of users and requests that the hash draws.
type Harm struct {
	// Budget is Rollout.Harm, a share of the route's requests; 0: there is none.
	Budget float64 `json:"budget"`
	// Compared counts the candidate's responses to users that were compared. Differing
	// counts those of them with a difference that is neither declared nor explained.
	Compared  int `json:"compared"`
	Differing int `json:"differing"`
	// Users is how many users have a compared response of either side.
	Users int `json:"users"`
	// Seconds is the number of different seconds with a comparison, in either order of
	// asking.
	Seconds int `json:"seconds"`
	// Uncompared is the share of the requests, 0 to 1, that cannot be compared: too large,
	// not safe. Nothing is known of them. Why counts them by the ledger's reasons.
	Uncompared float64 `json:"uncompared"`
	Why        string  `json:"uncompared_why,omitempty"`
	// Bound is the upper bound on the share of the candidate's responses that are wrong, 0
	// to 1, by requests or by users, whichever is larger; Binds says which. A request that
	// could not be compared counts as wrong.
	Bound float64 `json:"bound"`
	Binds string  `json:"binds"`
	// Spent is the share in force times Bound, Next the next step's share times Bound.
	// Neither may exceed Budget. Next is 0 if there is no further step.
	Spent float64 `json:"spent"`
	Next  float64 `json:"next"`
	// Needed is how many more compared responses the next step needs if none differs, and
	// Minutes how long that takes at the present rate. 0: none. −1: unknown.
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
	// Generation is that of the resulting position.
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
	// Holds says which promises hold on a route whose users' requests do not pass whittle, and
	// which do not. Empty: all hold.
	Holds string `json:"holds,omitempty"`
	// Generation is that of the position shown. An order may name it, and is refused once
	// there is a later one.
	Generation uint64 `json:"generation"`
	Next       string `json:"next"` // what happens next and what it waits for
	// NextShare is what a promotion would reach; 0: there is no further step.
	NextShare Share `json:"next_bp"`
	// Withheld is why a promotion to NextShare must be forced. Empty: it need not be, or
	// cannot be.
	Withheld string  `json:"withheld,omitempty"`
	Verdict  Verdict `json:"evidence"`
	Ledger   Ledger  `json:"ledger"`
	Guards   []Meter `json:"guards"`
	// Steer is how far proxies have put the share in force. Nil: whittle itself sends users to the
	// candidate.
	Steer *SteerStatus `json:"steer,omitempty"`
	// Gates are those before the next step.
	Gates    []GateStatus `json:"gates,omitempty"`
	Harm     Harm         `json:"harm"`
	Timeline []Decision   `json:"timeline"`
	// Monolith and Candidate are each side's latest traffic. These two alone are not on disk.
	Monolith  Traffic `json:"monolith"`
	Candidate Traffic `json:"candidate"`
}

// Traffic is what one side did over the last ten seconds.
type Traffic struct {
	// PerSecond is users' requests a second.
	PerSecond float64 `json:"per_second"`
	// Mirrored is calls alongside users' requests a second.
	Mirrored float64 `json:"mirrored_per_second"`
	// Errors is the share of bad responses to both, 0 to 1.
	Errors float64 `json:"errors"`
	// P50 and P99 are latencies of responses to both, in milliseconds. 0: no response.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// Past is a route's history, thinned to a bounded number of points, oldest first. Evidence
// goes back to its beginning, traffic to the gateway's start.
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
	// ID is the Bound's.
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

// Remark is a problem that a gateway sees in its traffic, for an operator to mend.
type Remark struct {
	// Route is the route with the problem; empty: all.
	Route string `json:"route,omitempty"`
	// Count is how many requests had it since the gateway began.
	Count int64  `json:"count"`
	Text  string `json:"text"`
}

// Package rollout decides which share of a route's users the candidate serves. It is a
// pure state machine: policy, state, evidence and the time go in, a new state and the
// reason for it come out. It does no I/O, starts no goroutine and reads no clock.
//
//	off → shadow → shift (one step of share after the other) → live
//	                 ↘ rolled_back ↙
//
// Three rules hold whatever the inputs: the share rises only while the verdict is
// EQUIVALENT or by a forced order; it rises to the next step and never past it; a
// breach, or the verdict DIFFERENT, ends in share 0.
package rollout

import (
	"encoding/json"
	"fmt"
	"time"

	"whittle"
)

// State is where one route's rollout stands. It is a value: every function of
// this package returns a new one.
type State struct {
	Phase whittle.Phase `json:"phase"`
	// Share is above 0 in the phases shift and live, and only there.
	Share whittle.Share `json:"share_bp"`
	// Since is when the phase, or the step within it, began. Zero: not stepped
	// yet.
	Since time.Time `json:"since"`
	// Decided is when the last decision was taken. Zero: none was.
	Decided time.Time `json:"decided"`
	// Held stops everything that would happen by itself, except a fall.
	Held bool `json:"held,omitempty"`
	// HeldReason is who holds it and why, as a sentence. Empty unless Held.
	HeldReason string `json:"held_reason,omitempty"`
	// Reason is the sentence of the last decision.
	Reason string `json:"reason,omitempty"`
	// Forced is the reason of the last order that raised the share while the
	// verdict was UNDECIDED. It is kept until the share is back at 0 for
	// another cause. Empty: nothing was forced.
	Forced string `json:"forced,omitempty"`
	// ByHand says that a rollback was ordered, so that it is not retried.
	ByHand bool `json:"by_hand,omitempty"`
	// Approved has the names of the gates that were opened by hand for the next step,
	// with commas between them.
	Approved string `json:"approved,omitempty"`
	// Refused records that the verdict was DIFFERENT; a reset keeps it. Zero: it was
	// not, or has been EQUIVALENT since.
	Refused Refusal `json:"refused,omitzero"`
}

// Input is the evidence at one moment.
type Input struct {
	Verdict whittle.State
	// Summary is the verdict's own sentence; it is quoted in reasons. Empty:
	// the verdict's word stands alone.
	Summary string
	// Breach is nil while no guard is breached.
	Breach *Breach
	// StepServed is how many requests the candidate has served since Since.
	StepServed int
	// Harm is the state of the harm budget (Budget).
	Harm whittle.Harm
	// Wait is why a guard lets a rise wait, as a clause. Empty: none does.
	Wait string
	// Ground is the evidence behind the verdict.
	Ground Ground
	// Gates has what the gates before the next step have said, by name.
	Gates map[string]GateState
}

// GateState is what a gate has said.
type GateState struct {
	Open bool
	// Wait is what is waited for, as a clause; empty: it has not responded yet.
	Wait string
}

// Breach is a guard's breach.
type Breach struct {
	// Guard is the guard's name: "errors", "p99", "mismatch", "breaker".
	Guard string
	// Hard breaches need no statistics: so many bad responses in a row.
	Hard bool
	// Reason is the guard's own sentence.
	Reason string
}

// Start is the state of a route that was never seen before: in shadow.
func Start(whittle.Rollout) State {
	return State{Phase: whittle.PhaseShadow}
}

// Resumed is a stored state taken up again at now, after a restart: the same
// share, and the step's hold counted from now, because nobody watched while
// the gateway was down. Times in the future, which another clock has written, count as
// now: otherwise everything would wait until this clock gets there.
func Resumed(s State, now time.Time) State {
	if s.Phase == whittle.PhaseShift || s.Since.After(now) {
		s.Since = now
	}
	if s.Decided.After(now) {
		s.Decided = now
	}
	return s
}

// encodingVersion is raised when an old encoding can no longer be read.
const encodingVersion = 1

type encoded struct {
	Version int `json:"version"`
	State
}

// Encode writes a state for Decode.
func Encode(s State) ([]byte, error) {
	return json.Marshal(encoded{Version: encodingVersion, State: s})
}

// Decode reads what Encode wrote. A state that no run could have produced is an error,
// so that a damaged one never puts users on the candidate.
func Decode(b []byte) (State, error) {
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return State{}, whittle.Errorf(whittle.Invalid, "decode rollout state: %w", err)
	}
	if e.Version != encodingVersion {
		return State{}, whittle.Errorf(whittle.Unsupported, "decode rollout state: version %d is not known", e.Version)
	}
	if err := e.check(); err != nil {
		return State{}, whittle.Errorf(whittle.Invalid, "decode rollout state: %w", err)
	}
	return e.State, nil
}

func (s State) check() error {
	switch s.Phase {
	case whittle.PhaseOff, whittle.PhaseShadow, whittle.PhaseRolledBack:
		if s.Share != 0 {
			return fmt.Errorf("share %d in phase %s", s.Share, s.Phase)
		}
	case whittle.PhaseShift, whittle.PhaseLive:
		if s.Share == 0 || s.Share > whittle.All {
			return fmt.Errorf("share %d in phase %s", s.Share, s.Phase)
		}
	default:
		return fmt.Errorf("unknown phase %q", s.Phase)
	}
	return nil
}

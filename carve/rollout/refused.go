package rollout

import (
	"fmt"
	"time"
)

// Ground is the evidence behind a verdict.
type Ground struct {
	// Epoch names what the evidence is about: both sides with their builds, and
	// how they are compared.
	Epoch string
	// Compared is how many exchanges it stands on, since it was begun.
	Compared int
	// Least is how many a verdict needs at least (compare.min_compared).
	Least int
}

// Refusal records that the verdict was DIFFERENT. A reset of the evidence does not clear
// it, so nobody can reset and then force what was refused a moment ago.
type Refusal struct {
	// At is when it was first seen. Zero: nothing was refused.
	At time.Time `json:"at"`
	// Summary is the verdict's sentence then.
	Summary string `json:"summary"`
	// Epoch is what the evidence was about. The refusal does not apply to another build,
	// URL or comparison.
	Epoch string `json:"epoch"`
	// After is after how many exchanges it was said. Fewer without a difference would say
	// nothing against it: a bet may be won long before the word, which waits for what a
	// server may hold of its own to move.
	After int `json:"after"`
}

// needed is how many exchanges must be compared before a promotion can be forced
// although the verdict was DIFFERENT; 0: it was not, or of another epoch.
func (s State) needed(g Ground) int {
	if s.Refused.At.IsZero() || s.Refused.Epoch != g.Epoch {
		return 0
	}
	return max(s.Refused.After, g.Least)
}

// unforced is why no promotion can be forced yet, as a clause, or "".
func (s State) unforced(in Input) string {
	if need := s.needed(in.Ground); in.Ground.Compared < need {
		return fmt.Sprintf("the verdict on this candidate was DIFFERENT before the reset%s; only %d of %d exchanges have been compared afresh",
			colon(s.Refused.Summary), in.Ground.Compared, need)
	}
	return ""
}

const hintUnforced = "wait for them, or, if another build responses now, name it in the config under candidate.build"

// afreshUntil is what the decision of a reset says about forcing a promotion next.
func (s State) afreshUntil(in Input) string {
	if need := s.needed(in.Ground); need > 0 {
		return fmt.Sprintf(" The verdict was DIFFERENT, so no promotion can be forced until %d exchanges have been compared afresh.", need)
	}
	return ""
}

package guard

import (
	"encoding/json"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// state is what outlives a restart.
type state struct {
	// Attempt counts the shifts of users to the candidate, from 1.
	Attempt int `json:"attempt"`
	// Part is what part of the users the candidate has.
	Part whittle.Share `json:"share"`

	Past   window `json:"past"`   // the monolith's responses that have left the blocks
	Recent window `json:"recent"` // the candidate's responses
	// Whole is what the monolith was when all users were last on it.
	Whole    eprocess.Share `json:"whole"`
	WholeP99 time.Duration  `json:"whole_p99"`
	Firsts   firsts         `json:"firsts"`
	Pairs    pairs          `json:"pairs"`

	Errors   grounds  `json:"errors"`
	Slow     grounds  `json:"slow"`
	Mismatch mismatch `json:"mismatch"`
	Slowness slowness `json:"slowness"`
}

// MarshalBinary gives the state, below 64 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) { return json.Marshal(&g.state) }

// UnmarshalBinary restores what MarshalBinary gave, into a guard of the same limits. That it is
// unharmed and of this version is known to whoever kept it. After an error the guard is as it was.
func (g *Guard) UnmarshalBinary(b []byte) error {
	restored := New(g.cfg).state
	if err := json.Unmarshal(b, &restored); err != nil {
		return whittle.Errorf(whittle.Invalid, "read guard state: %w", err)
	}
	g.state = restored
	return nil
}

package guard

import (
	"encoding/json"

	"whittle"
)

// guardVersion is the format of a guard's state.
const guardVersion = 6

// state is what outlives a restart.
type state struct {
	// Attempt counts the shifts of users to the candidate, from 1.
	Attempt int `json:"attempt"`
	// Part is what part of the users the candidate has.
	Part whittle.Share `json:"share"`

	Past   window `json:"past"`   // the monolith's responses that have left the blocks
	Recent window `json:"recent"` // the candidate's responses
	// Whole is what the monolith was when all users were last on it.
	Whole  reference `json:"whole"`
	Firsts firsts    `json:"firsts"`
	Pairs  pairs     `json:"pairs"`

	Errors   grounds  `json:"errors"`
	Slow     grounds  `json:"slow"`
	Mismatch mismatch `json:"mismatch"`
	Slowness slowness `json:"slowness"`
	// Row is how many of the candidate's responses in a row were bad (see Run).
	Row int `json:"run"`
}

// keptGuard is a state as it is written.
type keptGuard struct {
	Version int           `json:"v"`
	Guard   whittle.Guard `json:"guard"`
	*state
}

// MarshalBinary gives the state, below 64 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) {
	return json.Marshal(keptGuard{guardVersion, g.cfg, &g.state})
}

// UnmarshalBinary restores what MarshalBinary gave; that it is unharmed is known by the checksum of
// the state file. Evidence that was gathered
// under other limits is no evidence about these: it is a FailedPrecondition,
// and the guard stays as it was, as after any other error.
func (g *Guard) UnmarshalBinary(b []byte) error {
	restored := New(g.cfg)
	s := keptGuard{state: &restored.state}
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read guard state: %w", err)
	}
	if s.Version != guardVersion {
		return whittle.Errorf(whittle.Unsupported, "guard state has version %d, known is %d", s.Version, guardVersion)
	}
	if s.Guard != g.cfg {
		return whittle.Errorf(whittle.FailedPrecondition, "guard state was gathered under other limits").
			WithHint("start the guard anew")
	}
	*g = *restored
	return nil
}

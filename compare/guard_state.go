package compare

import (
	"encoding/json"

	"whittle"
)

// guardVersion is the format of a guard's state.
const guardVersion = 1

type guardState struct {
	Version    int           `json:"v"`
	Guard      whittle.Guard `json:"guard"`
	Past       windowState   `json:"past"`
	Recent     windowState   `json:"recent"`
	Reserve    []answer      `json:"reserve"`
	Pending    []answer      `json:"pending"`
	Alone      bool          `json:"alone"`
	References int           `json:"references"`
	Errors     contest       `json:"errors"`
	Slow       contest       `json:"slow"`
	Mismatch   contest       `json:"mismatch"`
	CPU        *cpuContest   `json:"cpu,omitempty"` // only where it is guarded
	Run        int           `json:"run"`
}

// MarshalBinary gives the state, below 32 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) {
	s := guardState{
		Version: guardVersion, Guard: g.cfg, Past: g.past.state(), Recent: g.recent.state(),
		Reserve: g.blocks.reserve, Pending: g.blocks.pending, Alone: g.blocks.alone, References: g.blocks.references,
		Errors: g.errors, Slow: g.slow, Mismatch: g.mismatch, Run: g.run,
	}
	if g.cfg.CPU > 0 {
		s.CPU = &g.cpu
	}
	return json.Marshal(&s)
}

// UnmarshalBinary restores what MarshalBinary gave. Evidence that was gathered
// under other limits is no evidence about these: it is a FailedPrecondition,
// and the guard stays as it was, as after any other error.
func (g *Guard) UnmarshalBinary(b []byte) error {
	var s guardState
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
	past, okPast := windowOf(s.Past)
	recent, okRecent := windowOf(s.Recent)
	if !okPast || !okRecent || len(s.Reserve) > maxReserve || len(s.Pending) >= maxPending ||
		(len(s.Reserve) > 0 && len(s.Pending) > 0) || s.References < 0 || s.Run < 0 ||
		!s.Errors.valid() || !s.Slow.valid() || !s.Mismatch.valid() || s.CPU != nil && !s.CPU.valid() {
		return whittle.Errorf(whittle.Invalid, "guard state contradicts itself").WithHint("start the guard anew")
	}
	g.past, g.recent, g.run = past, recent, s.Run
	g.blocks = blocks{reserve: s.Reserve, pending: s.Pending, alone: s.Alone, references: s.References}
	g.errors, g.slow, g.mismatch = s.Errors, s.Slow, s.Mismatch
	if s.CPU != nil {
		g.cpu = *s.CPU
	}
	return nil
}

func (c *contest) valid() bool {
	return c.Evidence.Arms.valid() && c.Evidence.Plays >= 0 && c.Bad >= 0 && c.Bad <= c.Count && c.MBad >= 0 && c.MBad <= c.MCount
}

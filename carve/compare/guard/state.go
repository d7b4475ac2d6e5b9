package guard

import (
	"encoding/json"

	"whittle"
)

// guardVersion is the format of a guard's state.
const guardVersion = 3

type guardState struct {
	Version  int           `json:"v"`
	Guard    whittle.Guard `json:"guard"`
	Attempt  int           `json:"attempt"`
	Share    whittle.Share `json:"share"`
	Era      int           `json:"era"`
	Past     *window       `json:"past"`
	Recent   *window       `json:"recent"`
	Whole    reference     `json:"whole"`
	Firsts   *firsts       `json:"firsts"`
	Users    *userRuns     `json:"users"`
	Pairs    pairs         `json:"pairs"`
	Errors   grounds       `json:"errors"`
	Slow     grounds       `json:"slow"`
	Mismatch mismatch      `json:"mismatch"`
	CPU      *cpuContest   `json:"cpu,omitempty"`      // only where it is guarded
	Slowness *slowness     `json:"slowness,omitempty"` // only where latency is guarded
	Run      int           `json:"run"`
}

// MarshalBinary gives the state, below 64 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) {
	s := guardState{
		Version: guardVersion, Guard: g.cfg, Attempt: g.attempt, Share: g.share, Era: g.era,
		Past: &g.past, Recent: &g.recent, Whole: g.whole, Firsts: &g.firsts, Users: &g.users,
		Pairs: g.pairs, Errors: g.errors, Slow: g.slow, Mismatch: g.mismatch, Run: g.run,
	}
	if g.cfg.CPU > 0 {
		s.CPU = &g.cpu
	}
	if g.cfg.P99 > 0 {
		s.Slowness = &g.slowness
	}
	return json.Marshal(&s)
}

// UnmarshalBinary restores what MarshalBinary gave. Evidence that was gathered
// under other limits is no evidence about these: it is a FailedPrecondition,
// and the guard stays as it was, as after any other error.
func (g *Guard) UnmarshalBinary(b []byte) error {
	restored := New(g.cfg)
	s := guardState{Past: &restored.past, Recent: &restored.recent, Firsts: &restored.firsts, Users: &restored.users}
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
	if !s.possible() {
		return errState
	}
	restored.attempt, restored.share, restored.era, restored.run = s.Attempt, s.Share, s.Era, s.Run
	restored.whole, restored.pairs = s.Whole, s.Pairs
	restored.errors, restored.slow, restored.mismatch = s.Errors, s.Slow, s.Mismatch
	if s.CPU != nil {
		restored.cpu = *s.CPU
	}
	if s.Slowness != nil {
		restored.slowness = *s.Slowness
	}
	*g = *restored
	return nil
}

var errState = whittle.Errorf(whittle.Invalid, "guard state contradicts itself").WithHint("start the guard anew")

// possible reports whether the plain fields could have come from play.
func (s *guardState) possible() bool {
	w := &s.Whole
	return s.Past != nil && s.Recent != nil && s.Firsts != nil && s.Users != nil && s.Firsts.valid() && s.Attempt >= 1 && s.Attempt <= 1<<30 && s.Era >= 1 && s.Share <= unknownShare &&
		s.Run >= 0 && w.Bad >= 0 && w.Bad <= w.N && w.Above >= 0 && w.Above <= w.Good && w.Tau >= 0 &&
		s.Users.Errors.valid() && s.Users.Slow.valid() && s.Users.Counted >= 0 &&
		s.Pairs.CandidateFirst.valid() && s.Pairs.MonolithFirst.valid() && s.Pairs.Since.valid() &&
		s.Errors.valid() && s.Slow.valid() && s.Mismatch.valid() && (s.CPU == nil || s.CPU.valid()) &&
		(s.Slowness == nil || s.Slowness.valid())
}

func (c *contest) valid() bool {
	return c.Evidence.Arms.Valid() && c.Evidence.Plays >= 0 && c.Bad >= 0 && c.Bad <= c.Count && c.MBad >= 0 && c.MBad <= c.MCount
}

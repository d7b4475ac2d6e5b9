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
	Past     windowState   `json:"past"`
	Recent   windowState   `json:"recent"`
	Whole    reference     `json:"whole"`
	Firsts   firstsState   `json:"firsts"`
	Users    usersState    `json:"users"`
	Pairs    pairs         `json:"pairs"`
	Errors   grounds       `json:"errors"`
	Slow     grounds       `json:"slow"`
	Mismatch mismatch      `json:"mismatch"`
	CPU      *cpuContest   `json:"cpu,omitempty"`      // only where it is guarded
	Slowness *slowness     `json:"slowness,omitempty"` // only where latency is guarded
	Run      int           `json:"run"`
}

type firstsState struct {
	Blocks      [2]blocksState `json:"blocks"`
	Now         []byte         `json:"now"`
	Before      []byte         `json:"before"`
	Ever        []byte         `json:"ever"`
	OnCandidate []byte         `json:"on_candidate"`
	Counted     int            `json:"counted"`
	SincePair   int            `json:"since_pair"`
	EverPair    bool           `json:"ever_pair"`
}

type blocksState struct {
	Reserve    []response `json:"reserve"`
	Pending    []response `json:"pending"`
	Alone      bool       `json:"alone"`
	References int        `json:"references"`
}

type usersState struct {
	Slots   []byte   `json:"slots"`
	Errors  unitTray `json:"errors"`
	Slow    unitTray `json:"slow"`
	Counted int      `json:"counted"`
}

// MarshalBinary gives the state, below 64 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) {
	s := guardState{
		Version: guardVersion, Guard: g.cfg, Attempt: g.attempt, Share: g.share, Era: g.era,
		Past: g.past.state(), Recent: g.recent.state(), Whole: g.whole,
		Firsts: g.firsts.state(), Users: usersState{g.users.bytes(), g.users.errors, g.users.slow, g.users.counted},
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
	restored := New(g.cfg)
	if !restored.take(&s) {
		return whittle.Errorf(whittle.Invalid, "guard state contradicts itself").WithHint("start the guard anew")
	}
	*g = *restored
	return nil
}

// take fills a new guard; ok is false where the state is impossible.
func (g *Guard) take(s *guardState) (ok bool) {
	past, okPast := windowOf(s.Past)
	recent, okRecent := windowOf(s.Recent)
	firsts, okFirsts := s.Firsts.restored()
	if !okPast || !okRecent || !okFirsts || !g.users.restore(s.Users.Slots) || !s.possible() {
		return false
	}
	g.attempt, g.share, g.era, g.run = s.Attempt, s.Share, s.Era, s.Run
	g.past, g.recent, g.whole, g.firsts, g.pairs = past, recent, s.Whole, firsts, s.Pairs
	g.users.errors, g.users.slow, g.users.counted = s.Users.Errors, s.Users.Slow, s.Users.Counted
	g.errors, g.slow, g.mismatch = s.Errors, s.Slow, s.Mismatch
	if s.CPU != nil {
		g.cpu = *s.CPU
	}
	if s.Slowness != nil {
		g.slowness = *s.Slowness
	}
	return true
}

// possible reports whether the plain fields could have come from play.
func (s *guardState) possible() bool {
	w := &s.Whole
	return s.Attempt >= 1 && s.Attempt <= 1<<30 && s.Era >= 1 && s.Share <= unknownShare &&
		s.Run >= 0 && w.Bad >= 0 && w.Bad <= w.N && w.Above >= 0 && w.Above <= w.Good && w.Tau >= 0 &&
		s.Users.Errors.valid() && s.Users.Slow.valid() && s.Users.Counted >= 0 &&
		s.Pairs.CandidateFirst.valid() && s.Pairs.MonolithFirst.valid() &&
		s.Errors.valid() && s.Slow.valid() && s.Mismatch.valid() && (s.CPU == nil || s.CPU.valid()) &&
		(s.Slowness == nil || s.Slowness.valid())
}

func (c *contest) valid() bool {
	return c.Evidence.Arms.Valid() && c.Evidence.Plays >= 0 && c.Bad >= 0 && c.Bad <= c.Count && c.MBad >= 0 && c.MBad <= c.MCount
}

func (f *firsts) state() firstsState {
	s := firstsState{
		Now: f.now.bytes(), Before: f.before.bytes(), Ever: f.ever.bytes(), OnCandidate: f.onCandidate.bytes(),
		Counted: f.counted, SincePair: f.sincePair, EverPair: f.everPair,
	}
	for i, b := range f.blocks {
		s.Blocks[i] = blocksState{b.reserve, b.pending, b.alone, b.references}
	}
	return s
}

func (s *firstsState) restored() (f firsts, ok bool) {
	f = firsts{counted: s.Counted, sincePair: s.SincePair, everPair: s.EverPair}
	ok = s.Counted >= 0 && s.SincePair >= 0
	for _, set := range []struct {
		to   *userSet
		from []byte
	}{{&f.now, s.Now}, {&f.before, s.Before}, {&f.ever, s.Ever}, {&f.onCandidate, s.OnCandidate}} {
		var fine bool
		*set.to, fine = userSetOf(set.from)
		ok = ok && fine
	}
	for i, b := range s.Blocks {
		f.blocks[i] = blocks{reserve: b.Reserve, pending: b.Pending, alone: b.Alone, references: b.References}
		ok = ok && len(b.Reserve) <= maxReserve && len(b.Pending) < maxPending &&
			(len(b.Reserve) == 0 || len(b.Pending) == 0) && b.References >= 0
	}
	return f, ok
}

package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
)

// matchVersion is the format of a match's state.
const matchVersion = 1

type matchState struct {
	Version int          `json:"v"`
	Kind    string       `json:"kind"`
	N       int          `json:"n"`
	Repeats int          `json:"repeats"`
	Whole   mark         `json:"whole"`
	Marks   []*mark      `json:"marks"`
	Noise   [][2]string  `json:"noise"`
	Combos  []comboState `json:"combos"`
	// Forms is what is compared by form; empty: it was kept before there was any.
	Forms json.RawMessage `json:"forms,omitempty"`
}

type comboState struct {
	Marks []int `json:"m"`
	Count int   `json:"n"`
}

// MarshalBinary gives the state, below 640 KiB.
func (m *match) MarshalBinary() ([]byte, error) {
	s := matchState{
		Version: matchVersion, Kind: string(m.c.Kind), N: m.n, Repeats: m.repeats,
		Whole: m.whole, Marks: append([]*mark{}, m.marks...),
	}
	for _, k := range m.marks {
		k.Unsure = !k.Own && k.isExplained()
	}
	for k := range m.noise.Learnt {
		s.Noise = append(s.Noise, [2]string{k.Path, k.Way})
	}
	if m.forms != nil {
		s.Forms = m.forms.State()
	}
	for key, n := range m.combos {
		s.Combos = append(s.Combos, comboState{comboMarks(key), n})
	}
	slices.SortFunc(s.Noise, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	slices.SortFunc(s.Combos, func(a, b comboState) int { return slices.Compare(a.Marks, b.Marks) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // six bytes for one
	if err := e.Encode(&s); err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep match: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary restores what MarshalBinary gave for the same comparison.
// What could not have come from it is refused, and leaves the match as it was.
func (m *match) UnmarshalBinary(b []byte) error {
	var s matchState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read match state: %w", err)
	}
	if s.Version != matchVersion {
		return whittle.Errorf(whittle.Unsupported, "match state has version %d, known is %d", s.Version, matchVersion)
	}
	f, err := m.restored(&s)
	if err != nil {
		return err
	}
	if m.forms != nil {
		if err := m.forms.Restore(s.Forms, f.n); err != nil {
			return err
		}
	}
	for _, k := range f.marks {
		if k.Own {
			m.forms.Own(k.Path)
		}
	}
	m.evidence = *f
	m.counted = m.noise.Version
	m.recount()
	return nil
}

var errMatchState = whittle.Errorf(whittle.Invalid, "match state contradicts itself").
	WithHint("it was not written for this comparison; start the route's evidence anew")

func (m *match) restored(s *matchState) (*evidence, error) {
	if s.Kind != string(m.c.Kind) || s.N < 0 || s.Repeats < 0 || s.Repeats > s.N ||
		len(s.Marks) > maxMarks || len(s.Combos) > maxCombos+2*maxMarks || len(s.Noise) > noise.Most {
		return nil, errMatchState
	}
	f := newEvidence(m.c)
	f.n, f.repeats = s.N, s.Repeats
	f.noise.N, f.noise.Repeats = s.N, s.Repeats
	f.share.N = s.N
	if !s.Whole.possible(s, m) {
		return nil, errMatchState
	}
	f.whole = s.Whole
	for _, k := range s.Marks {
		if k == nil || !k.possible(s, m) {
			return nil, errMatchState
		}
		if _, twice := f.index[k.markKey]; twice || f.samples > display.MaxKept {
			return nil, errMatchState
		}
		if k.Unsure {
			k.Pair.Void()
			f.whole.Pair.Void()
		}
		k.counted = k.decided()
		k.drift.moves.load = form.IsLoad(k.Path)
		if k.Own {
			f.noise.LearnOwn(k.noise())
		}
		f.index[k.markKey] = len(f.marks)
		f.marks = append(f.marks, k)
		f.noise.Self[k.noise()] += k.Self
		f.samples += len(k.Samples)
	}
	for _, k := range s.Noise {
		if (markKey{Path: k[0], How: k[1]}).learnable() {
			f.noise.Learn(noise.Key{Path: k[0], Way: k[1]})
		}
	}
	total := 0
	for _, c := range s.Combos {
		for _, i := range c.Marks {
			if i != beyond && (i < 0 || i >= len(f.marks)) {
				return nil, errMatchState
			}
		}
		if total += c.Count; len(c.Marks) == 0 || len(c.Marks) > jsondiff.MaxPerBody+1 || c.Count < 1 || total > s.N {
			return nil, errMatchState
		}
		f.combos[comboKey(c.Marks)] += c.Count
	}
	return &f, nil
}

// possible reports whether a mark can be one of what was kept.
func (k *mark) possible(all *matchState, m *match) bool {
	within := func(n int) bool { return n >= 0 && n <= all.N }
	return within(k.Born) && within(k.Count) && eprocess.UpTo(k.Again, k.Count) && eprocess.UpTo(k.Again, all.Repeats) && eprocess.UpTo(k.Self, all.Repeats) && within(k.Settled) &&
		within(k.RateAt) && within(k.Pair.At) && k.Expect >= -1 && k.Expect < len(m.c.Expect) &&
		k.Pair.Valid() && (k.Further == nil || k.Further.Valid()) && k.Rate.Valid() && len(k.Changes) <= maxChanges && len(k.Samples) <= display.MaxSamples &&
		!slices.ContainsFunc(k.Changes, func(c change) bool { return c.Over < 0 || c.Over >= c.Count })
}

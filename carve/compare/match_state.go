package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
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
	Whole   markState    `json:"whole"`
	Marks   []markState  `json:"marks"`
	Noise   [][2]string  `json:"noise"`
	Combos  []comboState `json:"combos"`
	// Forms is what is compared by form; empty: it was kept before there was any.
	Forms json.RawMessage `json:"forms,omitempty"`
}

type markState struct {
	Path    string           `json:"p,omitempty"`
	How     string           `json:"h,omitempty"`
	Expect  int              `json:"x"`
	Born    int              `json:"born"`
	Count   int              `json:"n"`
	Again   int              `json:"again,omitempty"`
	Self    int              `json:"self,omitempty"`
	Pair    eprocess.Bets    `json:"pair"`
	Rate    eprocess.Arms    `json:"rate"`
	Settled int              `json:"settled"`
	RateAt  int              `json:"at,omitempty"`
	First   string           `json:"first,omitempty"`
	Changes []change         `json:"changes,omitempty"`
	Samples []whittle.Sample `json:"samples,omitempty"`
}

type comboState struct {
	Marks []int `json:"m"`
	Count int   `json:"n"`
}

// MarshalBinary gives the state, below 640 KiB.
func (m *match) MarshalBinary() ([]byte, error) {
	s := matchState{
		Version: matchVersion, Kind: string(m.c.Kind), N: m.n, Repeats: m.repeats,
		Whole: m.whole.state(), Marks: make([]markState, len(m.marks)),
	}
	for i, k := range m.marks {
		s.Marks[i] = k.state()
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
	f.forms = m.forms
	f.differ, f.show, f.c, f.kind, f.learn, f.alpha, f.chosen = m.differ, m.show, m.c, m.kind, m.learn, m.alpha, m.chosen
	*m = *f
	m.counted = m.noise.Version
	m.recount()
	return nil
}

var errMatchState = whittle.Errorf(whittle.Invalid, "match state contradicts itself").
	WithHint("it was not written for this comparison; start the route's evidence anew")

func (m *match) restored(s *matchState) (*match, error) {
	if s.Kind != string(m.c.Kind) || s.N < 0 || s.Repeats < 0 || s.Repeats > s.N ||
		len(s.Marks) > maxMarks || len(s.Combos) > maxCombos+2*maxMarks || len(s.Noise) > noise.Most {
		return nil, errMatchState
	}
	f := &match{
		n: s.N, repeats: s.Repeats, index: map[markKey]int{}, noise: noise.New(),
		combos: map[string]int{}, share: eprocess.NewShare(differAim(m.c)),
	}
	f.noise.N, f.noise.Repeats = s.N, s.Repeats
	f.share.N = s.N
	whole, ok := s.Whole.mark(s, m)
	if !ok {
		return nil, errMatchState
	}
	f.whole = *whole
	for i := range s.Marks {
		k, ok := s.Marks[i].mark(s, m)
		if _, twice := f.index[keyOf(k)]; !ok || twice || f.samples > display.MaxKept {
			return nil, errMatchState
		}
		f.index[k.key] = len(f.marks)
		f.marks = append(f.marks, k)
		f.noise.Self[k.key.noise()] += k.Self
		f.samples += len(k.Samples)
	}
	for _, k := range s.Noise {
		f.noise.Learn(noise.Key{Path: k[0], Way: k[1]})
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
	return f, nil
}

func keyOf(k *mark) markKey {
	if k == nil {
		return markKey{}
	}
	return k.key
}

func (k *mark) state() markState {
	return markState{
		Path: k.key.path, How: k.key.how, Expect: k.key.expect, Born: k.Born, Count: k.Count, Again: k.Again, Self: k.Self,
		Pair: k.Pair, Rate: k.Rate, Settled: k.Settled, RateAt: k.RateAt,
		First: k.At, Changes: k.Changes, Samples: k.Samples,
	}
}

// mark gives what the state describes; ok is false where it is impossible.
func (s *markState) mark(all *matchState, m *match) (k *mark, ok bool) {
	within := func(n int) bool { return n >= 0 && n <= all.N }
	ok = within(s.Born) && within(s.Count) && eprocess.UpTo(s.Again, s.Count) && eprocess.UpTo(s.Again, all.Repeats) && eprocess.UpTo(s.Self, all.Repeats) && within(s.Settled) &&
		within(s.RateAt) && within(s.Pair.At) && s.Expect >= -1 && s.Expect < len(m.c.Expect) &&
		s.Pair.Valid() && s.Rate.Valid() && len(s.Changes) <= maxChanges && len(s.Samples) <= display.MaxSamples
	if !ok {
		return nil, false
	}
	for _, c := range s.Changes {
		if c.Over < 0 || c.Over >= c.Count {
			return nil, false
		}
	}
	k = &mark{
		key: markKey{s.Path, s.How, s.Expect}, Born: s.Born, Count: s.Count, Again: s.Again, Self: s.Self,
		Pair: s.Pair, Rate: s.Rate, Settled: s.Settled, RateAt: s.RateAt,
		At: s.First, Changes: s.Changes, Samples: s.Samples,
	}
	k.Counted = k.decided()
	return k, true
}

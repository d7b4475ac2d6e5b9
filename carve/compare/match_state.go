package compare

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"whittle"
	"whittle/carve/compare/noise"
)

type matchState struct {
	N       int         `json:"n"`
	Repeats int         `json:"repeats"`
	Opened  int         `json:"opened"`
	Marks   []*mark     `json:"marks"`
	Noise   []noise.Key `json:"noise"`
	// Forms is what is compared by form; empty: nothing is.
	Forms json.RawMessage `json:"forms,omitempty"`
}

// MarshalBinary gives the state, below 640 KiB.
func (m *match) MarshalBinary() ([]byte, error) {
	s := matchState{N: m.n, Repeats: m.repeats, Opened: m.opened, Marks: m.marks, Noise: slices.SortedFunc(maps.Keys(m.noise.Learnt), noise.Key.Compare)}
	s.Forms = m.forms.State()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // six bytes for one
	if err := e.Encode(&s); err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep match: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary restores what MarshalBinary gave for the same comparison.
func (m *match) UnmarshalBinary(b []byte) error {
	var s matchState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read match state: %w", err)
	}
	if err := m.forms.Restore(s.Forms, s.N); err != nil {
		return err
	}
	f := newEvidence()
	f.n, f.repeats, f.opened = s.N, s.Repeats, s.Opened
	f.noise.N, f.noise.Repeats = s.N, s.Repeats
	for _, k := range s.Marks {
		if k.Own {
			f.noise.LearnOwn(k.noise())
			m.forms.MarkOwn(k.Path)
		}
		k.State.Pause()
		f.index[k.markKey] = len(f.marks)
		f.marks = append(f.marks, k)
		f.noise.Self[k.noise()] += k.Self
		f.samples += len(k.Samples)
	}
	for _, k := range s.Noise {
		f.noise.Learn(k)
	}
	m.evidence, m.told = f, f.noise.Version
	return nil
}

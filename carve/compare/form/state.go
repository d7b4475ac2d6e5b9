package form

import (
	"encoding/json"
	"maps"
	"slices"

	"whittle"
)

// stateMost bounds the state of what is compared by form.
const stateMost = 208 << 10 // bytes

// formState is what is kept: the latest places are left out where it gets too long.
type formState struct {
	Paths  []json.RawMessage `json:"paths,omitempty"`
	Fields []uint64          `json:"fields,omitempty"`
	// Dropped is how many places were left out; their parts of the error rate are not given again.
	Dropped int `json:"dropped,omitempty"`
}

// State is what is known, in bounded length.
func (f *Forms) State() json.RawMessage {
	s := formState{Dropped: f.dropped, Fields: slices.Sorted(maps.Keys(f.fields.at))}
	left := stateMost - 24*len(s.Fields)
	for i, p := range f.paths {
		b, err := json.Marshal(p)
		if left -= len(b) + 1; err != nil || left < 100 {
			s.Dropped += len(f.paths) - i
			break
		}
		s.Paths = append(s.Paths, b)
	}
	b, _ := json.Marshal(&s)
	return b
}

// Restore takes what State gave, after n exchanges; an empty state knows nothing. That a state is
// unharmed is known by the checksum of its file.
func (f *Forms) Restore(b json.RawMessage, n int) error {
	if len(b) == 0 {
		return nil
	}
	var s formState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read what is compared by form: %w", err)
	}
	var paths []*formPath
	for _, b := range s.Paths {
		p := newFormPath("", 0, "")
		if err := json.Unmarshal(b, p); err != nil || p.Born > n {
			return whittle.Errorf(whittle.Invalid, "state of what is compared by form contradicts itself").
				WithHint("it was not written for this comparison; start the route's evidence anew")
		}
		p.rule, p.own = f.rule(p.Path), f.own[p.Path]
		paths = append(paths, p)
	}
	f.forget()
	for _, p := range paths {
		f.put(p)
		f.samples += len(p.Samples)
	}
	for _, h := range s.Fields {
		f.fields.at[h] = true
	}
	f.dropped = s.Dropped
	return nil
}

// forget leaves no place and no field.
func (f *Forms) forget() {
	f.paths, f.known, f.samples = nil, 0, 0
	f.index, f.below = map[string]int{}, map[string]bool{}
	f.fields = fieldCount{at: map[uint64]bool{}, alone: map[string]bool{}}
}

// ShowAgain redacts what was restored. A form says nothing secret.
func (f *Forms) ShowAgain() {
	for _, p := range f.paths {
		f.Show.Again(p.Samples, TrailOf(p.Path))
	}
}

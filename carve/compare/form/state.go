package form

import (
	"encoding/json"
	"maps"
	"slices"

	"whittle"
)

// stateMost bounds the state of the forms.
const stateMost = 208 << 10 // bytes

// formState is what is kept. Where it gets too long, the latest places are left out.
type formState struct {
	Paths  []*formPath `json:"paths,omitempty"`
	Fields []uint64    `json:"fields,omitempty"`
	// Dropped counts the places left out. Their parts of the error rate are not given again.
	Dropped int `json:"dropped,omitempty"`
}

// MarshalJSON gives the state, in bounded length.
func (f *Forms) MarshalJSON() ([]byte, error) {
	s := formState{Paths: f.paths, Fields: slices.Sorted(maps.Keys(f.fields))}
	for {
		s.Dropped = f.dropped + len(f.paths) - len(s.Paths)
		b, err := json.Marshal(&s)
		over, n := len(b)-stateMost, len(s.Paths)
		if err != nil || over <= 0 {
			return b, err
		}
		s.Paths = s.Paths[:n-max(1, n*over/len(b))]
	}
}

// UnmarshalJSON takes what MarshalJSON gave. The checksum of its file says that it is unharmed.
func (f *Forms) UnmarshalJSON(b []byte) error {
	var s formState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read what is compared by form: %w", err)
	}
	f.forget()
	for _, p := range s.Paths {
		f.put(p)
		f.samples += len(p.Samples)
	}
	for _, h := range s.Fields {
		f.fields[h] = true
	}
	f.dropped = s.Dropped
	return nil
}

// forget drops every place and field.
func (f *Forms) forget() {
	f.paths, f.samples = nil, 0
	f.index, f.below = map[string]int{}, map[string]bool{}
	f.fields = map[uint64]bool{}
}

// ShowAgain redacts what was restored. A form holds no secret.
func (f *Forms) ShowAgain() {
	for _, p := range f.paths {
		f.Show.Again(p.Samples, TrailOf(p.Path))
	}
}

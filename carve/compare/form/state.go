package form

import (
	"encoding/json"
	"maps"
	"slices"

	"whittle"
	"whittle/carve/compare/own"
	"whittle/carve/compare/twosample"
)

// formStateMost bounds the state of what is compared by form, in bytes.
const formStateMost = 208 << 10

// formState is what is kept. Of values only hashes are, and the last numbers of a place.
type formState struct {
	Paths  []pathState `json:"paths,omitempty"`
	Fields []uint64    `json:"fields,omitempty"`
	More   bool        `json:"more,omitempty"`
	// Dropped places made the state too long; theirs are not given again.
	Dropped int `json:"dropped,omitempty"`
}

// pathState is what is kept of a place.
type pathState struct {
	Path string `json:"p"`
	Born int    `json:"born"`
	// Fresh says that it is a cookie's: the monolith was not seen to vary there, so what it
	// keeps saying is not what it holds.
	Fresh bool `json:"fresh,omitempty"`
	// Varies are the ways in which the monolith varies there.
	Varies []string `json:"v"`
	// Offsets are those of the monolith's last times, in ms; Off is a recent one of the
	// candidate that lay elsewhere.
	Offsets []int64 `json:"o,omitempty"`
	Off     int64   `json:"off,omitempty"`
	// Padded says that digits of the monolith began with zeros.
	Padded bool `json:"z,omitempty"`
	// Of Said values of the candidate's, so many were among the monolith's last ones.
	Said   int `json:"said,omitempty"`
	Shared int `json:"shared,omitempty"`
	// Apart is in how many exchanges the two sides' values were others.
	Apart int         `json:"apart,omitempty"`
	Trend trend       `json:"t,omitzero"`
	Held  own.Holding `json:"held"`
	// Samples are exchanges in which the candidate's form was unusual.
	Samples []whittle.Sample `json:"s,omitempty"`
	// Recent are each side's last values.
	Recent [2]recentValues `json:"recent"`
	// Features are those of which something is known, nil the others, when it is kept.
	Features []*feature      `json:"f"`
	Alike    *twosample.Test `json:"alike,omitempty"`
}

// State is what is known, in bounded length: the latest places are left out first.
func (f *Forms) State() json.RawMessage {
	s := formState{Dropped: f.dropped, Fields: slices.Sorted(maps.Keys(f.fields.at)), More: f.fields.more}
	for _, p := range f.paths {
		k := p.pathState
		k.Features = p.known()
		s.Paths = append(s.Paths, k)
	}
	for {
		b, err := json.Marshal(&s)
		if err != nil {
			return nil
		}
		if len(b) <= formStateMost || len(s.Paths) == 0 {
			return b
		}
		keep := min(len(s.Paths)-1, len(s.Paths)*formStateMost/len(b))
		s.Dropped += len(s.Paths) - keep
		s.Paths = s.Paths[:keep]
	}
}

// Restore takes what State gave, after n exchanges; an empty state knows nothing.
func (f *Forms) Restore(b json.RawMessage, n int) error {
	if len(b) == 0 {
		return nil
	}
	var s formState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read what is compared by form: %w", err)
	}
	var paths []*formPath
	for i := range s.Paths {
		p, ok := s.Paths[i].restored(n, f.rule(s.Paths[i].Path))
		if !ok {
			return whittle.Errorf(whittle.Invalid, "state of what is compared by form contradicts itself").
				WithHint("it was not written for this comparison; start the route's evidence anew")
		}
		paths = append(paths, p)
	}
	f.paths, f.index, f.below, f.samples = nil, map[uint64]int{}, map[uint64]bool{}, 0
	for _, p := range paths {
		f.put(p)
		f.samples += len(p.Samples)
	}
	f.fields = newFieldCount()
	f.fields.more = s.More
	for _, h := range s.Fields {
		f.fields.at[h] = true
	}
	f.known, f.dropped = 0, s.Dropped
	return nil
}

// restored is the place; false: it cannot have been kept after n exchanges. That a state is
// unharmed is known by the checksum of its file.
func (s *pathState) restored(n int, rule string) (p *formPath, ok bool) {
	p = newFormPath(s.Path, s.Born, rule)
	p.pathState = *s
	for i, t := range s.Features[:min(len(s.Features), features)] {
		if t == nil {
			continue
		}
		if p.feature[i] = *t; !t.Bets.Valid() {
			return nil, false
		}
	}
	if p.Features = nil; p.Alike == nil {
		p.Alike = &twosample.Test{}
	}
	return p, s.Born <= n
}

// known are the derived places of which something is known.
func (p *formPath) known() []*feature {
	list := make([]*feature, features)
	for i := range p.feature {
		if t := &p.feature[i]; t.M.N > 0 {
			list[i] = t
		}
	}
	return list
}

// ShowAgain redacts what was restored.
func (f *Forms) ShowAgain() {
	for _, p := range f.paths {
		was := slices.Clone(p.Samples)
		f.Show.Again(p.Samples, TrailOf(p.Path))
		for i := range was {
			if f.named { // a form says nothing secret
				p.Samples[i].MonolithValue, p.Samples[i].CandidateValue = was[i].MonolithValue, was[i].CandidateValue
			}
		}
	}
}

package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/novelty"
)

// keptJudge is the state of a judge as it is written and read.
type keptJudge struct {
	Whole    bool            `json:"whole"` // it is one
	Mirrored keptSeries      `json:"mirrored"`
	Served   keptSeries      `json:"served"`
	Rechecks *rechecks       `json:"rechecks"`
	Users    *users          `json:"users"`
	Shapes   *novelty.Shapes `json:"shapes"`
	Seconds  *seconds        `json:"seconds"`
	ShownAt  *int            `json:"shown_at"`
}

type keptSeries struct {
	*tallies
	Headers *match    `json:"headers"`
	Cookies *[]string `json:"cookies"`
	Method  method    `json:"method"`
}

func (j *Judge) kept() *keptJudge {
	of := func(s *series) keptSeries {
		return keptSeries{tallies: &s.tallies, Headers: s.headers.match, Cookies: &s.headers.cookies, Method: s.method}
	}
	return &keptJudge{
		Whole: true, Mirrored: of(j.mirrored), Served: of(j.served),
		Rechecks: &j.rechecks, Users: &j.users, Shapes: j.shapes, Seconds: &j.seconds, ShownAt: &j.shownAt,
	}
}

// MarshalBinary keeps all evidence. Causes, earlier responses and headers that are not compared are learned
// anew in each process.
func (j *Judge) MarshalBinary() ([]byte, error) {
	b, err := encoded(j.kept())
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep judge: %w", err)
	}
	return b, nil
}

// UnmarshalBinary restores what MarshalBinary kept, into a new judge for the same comparison. Its keeper
// knows that it is unharmed and of this version. After an error the judge must not be used.
func (j *Judge) UnmarshalBinary(b []byte) error {
	k := j.kept()
	k.Whole = false
	if err := json.Unmarshal(b, k); err != nil || !k.Whole {
		return whittle.Errorf(whittle.Invalid, "restore judge: %w", cmp.Or(err, errors.New("it is no state")))
	}
	j.shareNoise()
	j.rechecks.ownCount = j.ownCount()
	j.verdict = nil
	j.showAgain()
	return nil
}

// showAgain redacts what was restored: the config may have had fewer rules when it was kept.
func (j *Judge) showAgain() {
	for _, s := range []*series{j.mirrored, j.served} {
		for i := range s.Heads {
			for k := range s.Heads[i].Changes {
				j.show.Again(s.Heads[i].Changes[k].Samples, nil)
			}
		}
		s.headers.ShowAgain()
		s.method.ShowAgain()
	}
}

type matchState struct {
	N       int         `json:"n"`
	Repeats int         `json:"repeats"`
	Opened  int         `json:"opened"`
	Marks   []*mark     `json:"marks"`
	Noise   []noise.Key `json:"noise"`
	Forms   *form.Forms `json:"forms"`
}

// MarshalJSON gives the state, below 640 KiB.
func (m *match) MarshalJSON() ([]byte, error) {
	s := matchState{N: m.n, Repeats: m.repeats, Opened: m.opened, Marks: m.marks, Forms: m.forms, Noise: slices.SortedFunc(maps.Keys(m.noise.Learnt), noise.Key.Compare)}
	return encoded(&s)
}

// encoded is JSON in which <, > and & take one byte each, not six.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// UnmarshalJSON restores what MarshalJSON gave for the same comparison.
func (m *match) UnmarshalJSON(b []byte) error {
	s := matchState{Forms: m.forms}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	f := newEvidence()
	f.n, f.repeats, f.opened = s.N, s.Repeats, s.Opened
	f.noise.N, f.noise.Repeats = s.N, s.Repeats
	for _, k := range s.Marks {
		if k.Own {
			f.noise.LearnOwn(k.noise())
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
	m.evidence = f
	return nil
}

package compare

import (
	"encoding/json"

	"whittle"
	"whittle/carve/compare/novelty"
)

// keptJudge is the state as it is written.
type keptJudge struct {
	Mirrored keptSeries      `json:"mirrored"`
	Served   keptSeries      `json:"served"`
	Rechecks *rechecks       `json:"rechecks"`
	Users    *users          `json:"users"`
	Shapes   *novelty.Shapes `json:"shapes"`
	Seconds  *seconds        `json:"seconds"`
	ShownAt  *int            `json:"shown_at"`
}

type keptSeries struct {
	tallies
	Headers keptHeaders `json:"headers"`
	Method  []byte      `json:"method"`
}

// kept is a judge whose state is written to k, or read from it.
func (j *Judge) kept() keptJudge {
	return keptJudge{Rechecks: &j.rechecks, Users: &j.users, Shapes: j.shapes, Seconds: &j.seconds, ShownAt: &j.shownAt}
}

func (s *series) kept() (keptSeries, error) {
	m, err := s.method.MarshalBinary()
	if err != nil {
		return keptSeries{}, err
	}
	h, err := s.headers.kept()
	return keptSeries{tallies: s.tallies, Headers: h, Method: m}, err
}

func (s *series) restore(k *keptSeries) error {
	s.tallies = k.tallies
	if err := s.method.UnmarshalBinary(k.Method); err != nil {
		return err
	}
	return s.headers.restore(&k.Headers)
}

// MarshalBinary keeps all that the judge knows.
func (j *Judge) MarshalBinary() ([]byte, error) {
	k := j.kept()
	var err error
	if k.Mirrored, err = j.mirrored.kept(); err != nil {
		return nil, err
	}
	if k.Served, err = j.served.kept(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(&k)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep judge: %w", err)
	}
	return b, nil
}

// UnmarshalBinary restores what MarshalBinary kept, into a judge made for the same comparison. That
// it is unharmed and of this version is known to whoever kept it. After an error the judge must not
// be used.
func (j *Judge) UnmarshalBinary(b []byte) error {
	k := j.kept()
	if err := json.Unmarshal(b, &k); err != nil {
		return whittle.Errorf(whittle.Invalid, "restore judge: %w", err)
	}
	if err := j.mirrored.restore(&k.Mirrored); err != nil {
		return err
	}
	if err := j.served.restore(&k.Served); err != nil {
		return err
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

package compare

import (
	"encoding/json"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/novelty"
)

const (
	judgeVersion = 5
	// stateMost bounds the kept state, in bytes.
	stateMost = 4 << 20
)

// keptJudge is the state as it is written.
type keptJudge struct {
	Version  int                 `json:"version"`
	Kind     whittle.CompareKind `json:"kind"`
	Mirrored keptSeries          `json:"mirrored"`
	Served   keptSeries          `json:"served"`
	Rechecks rechecks            `json:"rechecks"`
	Users    *users              `json:"users"`
	Novelty  []byte              `json:"novelty"`
	Shapes   []byte              `json:"shapes"`
	Seconds  seconds             `json:"seconds"`
	ShownAt  int                 `json:"shown_at,omitempty"`
}

type keptSeries struct {
	tallies
	Headers header.Headers `json:"headers"`
	header.FormState
	Method []byte `json:"method"`
}

func (s *series) kept() (keptSeries, error) {
	m, err := s.method.MarshalBinary()
	return keptSeries{tallies: s.tallies, Headers: s.headers, FormState: s.headers.FormState(), Method: m}, err
}

func (k *keptSeries) valid() bool {
	return eprocess.UpTo(k.Loose, k.Asked) && eprocess.UpTo(k.Compared, k.Asked) && eprocess.UpTo(k.Errors, k.Compared) && eprocess.UpTo(k.Partly, k.Compared) &&
		k.Status.Valid(header.ChangesMost) && k.Type.Valid(header.ChangesMost) && k.Failure.Valid(header.ChangesMost) && k.Headers.Valid()
}

// MarshalBinary keeps all that the judge knows, in less than 4 MiB.
func (j *Judge) MarshalBinary() ([]byte, error) {
	mirrored, err := j.mirrored.kept()
	if err != nil {
		return nil, err
	}
	served, err := j.served.kept()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(&keptJudge{
		Version: judgeVersion, Kind: j.c.Kind, Mirrored: mirrored, Served: served,
		Rechecks: j.rechecks, Users: &j.users, Novelty: j.novelty.Pack(), Shapes: j.shapes.Pack(), Seconds: j.seconds, ShownAt: j.shownAt,
	})
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep judge: %w", err)
	}
	if len(b) >= stateMost {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "keep judge: the state has %d bytes", len(b))
	}
	return b, nil
}

// UnmarshalBinary restores what MarshalBinary kept, into a judge made for the
// same comparison. On an error the judge is as it was.
func (j *Judge) UnmarshalBinary(b []byte) error {
	if len(b) >= stateMost {
		return whittle.Errorf(whittle.Invalid, "restore judge: the state has %d bytes", len(b))
	}
	var k keptJudge
	if err := json.Unmarshal(b, &k); err != nil {
		return whittle.Errorf(whittle.Invalid, "restore judge: %w", err)
	}
	if k.Version != judgeVersion {
		return whittle.Errorf(whittle.Unsupported, "restore judge: version %d is not known", k.Version)
	}
	if k.Kind != j.c.Kind {
		return whittle.Errorf(whittle.FailedPrecondition, "restore judge: it was kept by the kind %q", k.Kind)
	}
	var v novelty.Estimate
	if !k.Mirrored.valid() || !k.Served.valid() || !k.Rechecks.valid() || k.Users == nil || !k.Users.valid() || !k.Seconds.valid() || !eprocess.UpTo(k.ShownAt, k.Mirrored.Compared+k.Served.Compared) ||
		!v.Unpack(k.Novelty) || !novelty.NewShapes().Unpack(k.Shapes) {
		return whittle.Errorf(whittle.Invalid, "restore judge: the state is not a possible one")
	}
	kept := map[*series][]byte{j.mirrored: k.Mirrored.Method, j.served: k.Served.Method}
	for _, method := range kept { // neither is changed unless both can be
		tried, err := newMethod(j.c, 1)
		if err == nil {
			err = tried.UnmarshalBinary(method)
		}
		if err != nil {
			return err
		}
	}
	mirrored, err := j.mirrored.headers.ReadForms(&k.Mirrored.FormState, k.Mirrored.Compared)
	if err != nil {
		return err
	}
	served, err := j.served.headers.ReadForms(&k.Served.FormState, k.Served.Compared)
	if err != nil {
		return err
	}
	for s, method := range kept {
		if err := s.method.UnmarshalBinary(method); err != nil {
			return err
		}
	}
	for s, of := range map[*series]*keptSeries{j.mirrored: &k.Mirrored, j.served: &k.Served} {
		s.tallies = of.tallies
		s.headers.Restore(&of.Headers)
	}
	j.mirrored.headers.TakeForms(mirrored)
	j.served.headers.TakeForms(served)
	j.shareNoise()
	j.rechecks, j.users, j.novelty, j.seconds, j.shownAt = k.Rechecks, *k.Users, v, k.Seconds, k.ShownAt
	j.shapes.Unpack(k.Shapes)
	j.rechecks.owned = j.owned()
	j.verdict = nil
	j.showAgain()
	return nil
}

// showAgain redacts what was restored: the state may be of a version that did
// not redact, or of a config with fewer rules.
func (j *Judge) showAgain() {
	for _, s := range []*series{j.mirrored, j.served} {
		for _, h := range []*header.Head{&s.Status, &s.Type, &s.Failure} {
			for i := range h.Changes {
				j.show.Again(h.Changes[i].Samples, nil)
			}
		}
		s.headers.ShowAgain()
		s.method.ShowAgain()
	}
}

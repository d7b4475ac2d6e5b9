package compare

import (
	"encoding/json"

	"whittle"
	"whittle/carve/compare/novelty"
)

const (
	judgeVersion = 10
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
	Shapes   []byte              `json:"shapes"`
	Seconds  seconds             `json:"seconds"`
	ShownAt  int                 `json:"shown_at,omitempty"`
}

type keptSeries struct {
	tallies
	Headers keptHeaders `json:"headers"`
	Method  []byte      `json:"method"`
}

func (s *series) kept() (keptSeries, error) {
	m, err := s.method.MarshalBinary()
	if err != nil {
		return keptSeries{}, err
	}
	h, err := s.headers.kept()
	return keptSeries{tallies: s.tallies, Headers: h, Method: m}, err
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
		Rechecks: j.rechecks, Users: &j.users, Shapes: j.shapes.Pack(), Seconds: j.seconds, ShownAt: j.shownAt,
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
// same comparison; that it is unharmed is known by the checksum of the state file. On an error
// the judge is as it was.
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
	if k.Users == nil || k.Users.Seen == nil || !novelty.NewShapes().Unpack(k.Shapes) {
		return whittle.Errorf(whittle.Invalid, "restore judge: the state is not a possible one")
	}
	orders := [...]struct {
		*series
		kept *keptSeries
	}{{j.mirrored, &k.Mirrored}, {j.served, &k.Served}}
	for _, o := range orders { // neither is changed unless both can be
		tried, err := newMethod(j.c, 1)
		if err == nil {
			err = tried.UnmarshalBinary(o.kept.Method)
		}
		if err == nil {
			var h headers
			if h, err = newHeaders(j.c, 1, j.show); err == nil {
				err = h.restore(&o.kept.Headers)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, o := range orders {
		if err := o.method.UnmarshalBinary(o.kept.Method); err != nil {
			return err
		}
		if err := o.headers.restore(&o.kept.Headers); err != nil {
			return err
		}
		o.tallies = o.kept.tallies
	}
	j.shareNoise()
	j.rechecks, j.users, j.seconds, j.shownAt = k.Rechecks, *k.Users, k.Seconds, k.ShownAt
	j.shapes.Unpack(k.Shapes)
	j.rechecks.ownCount = j.ownCount()
	j.verdict = nil
	j.showAgain()
	return nil
}

// showAgain redacts what was restored: the state may be of a version that did
// not redact, or of a config with fewer rules.
func (j *Judge) showAgain() {
	for _, s := range []*series{j.mirrored, j.served} {
		for i := range s.Heads {
			for k := range s.Heads[i].Changes {
				j.show.Again(s.Heads[i].Changes[k].Samples, nil)
			}
		}
		s.headers.showAgain()
		s.method.ShowAgain()
	}
}

package compare

import (
	"encoding/json"
	"maps"
	"slices"

	"whittle"
)

const (
	judgeVersion = 3
	// stateMost bounds the kept state, in bytes.
	stateMost = 1 << 20
)

// keptJudge is the state as it is written.
type keptJudge struct {
	Version  int                 `json:"version"`
	Kind     whittle.CompareKind `json:"kind"`
	Compared int                 `json:"compared"`
	Asked    int                 `json:"asked"`
	Loose    int                 `json:"loose"`
	Status   head                `json:"status"`
	Type     head                `json:"type"`
	Failure  head                `json:"failure"`
	Headers  headers             `json:"headers"`
	Novelty  []byte              `json:"novelty"`
	Method   []byte              `json:"method"`
}

// MarshalBinary keeps all that the judge knows, in less than 1 MiB.
func (j *Judge) MarshalBinary() ([]byte, error) {
	m, err := j.method.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(&keptJudge{
		Version: judgeVersion, Kind: j.c.Kind, Compared: j.compared, Asked: j.asked, Loose: j.loose,
		Status: j.status, Type: j.kind, Failure: j.failure, Headers: j.headers, Novelty: j.novelty.pack(), Method: m,
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
	var v novelty
	if !upTo(k.Loose, k.Asked) || !upTo(k.Compared, k.Asked) ||
		!k.Status.valid(changesMost) || !k.Type.valid(changesMost) || !k.Failure.valid(changesMost) ||
		!k.Headers.valid() || !v.unpack(k.Novelty) {
		return whittle.Errorf(whittle.Invalid, "restore judge: the state is not a possible one")
	}
	if err := j.method.UnmarshalBinary(k.Method); err != nil {
		return err
	}
	j.compared, j.asked, j.loose = k.Compared, k.Asked, k.Loose
	j.status, j.kind, j.failure, j.novelty = k.Status, k.Type, k.Failure, v
	j.headers.restore(&k.Headers)
	j.verdict = nil
	j.showAgain()
	return nil
}

// showAgain redacts what was restored: the state may be of a version that did
// not redact, or of a config with fewer rules.
func (j *Judge) showAgain() {
	for _, h := range []*head{&j.status, &j.kind, &j.failure} {
		for i := range h.Changes {
			j.show.again(h.Changes[i].Samples, nil)
		}
	}
	j.headers.showAgain()
	j.method.(redactable).showAgain()
}

func sortedKeys(m map[uint64]bool) []uint64 { return slices.Sorted(maps.Keys(m)) }

package state

import (
	"encoding/json"

	"whittle"
)

// Bounds of what is kept of one route.
const (
	// MaxTimeline is how many decisions are kept, the last ones.
	MaxTimeline = 500
	maxPart     = 8 << 20 // bytes of one part of a record
	maxName     = 1024    // bytes of a route's name
)

// Record is all that is kept of a route. The parts are opaque here.
type Record struct {
	// Epoch names what the evidence is about; other evidence must not be
	// continued under it.
	Epoch string
	// Rollout, Judge, Guard and Ledger are the rooms' own encodings.
	Rollout, Judge, Guard, Ledger []byte
	// Timeline is oldest first; only the last MaxTimeline are kept.
	Timeline []whittle.Decision
}

func encode(route string, r Record) ([]byte, error) {
	if route == "" || len(route) > maxName {
		return nil, whittle.Errorf(whittle.Invalid, "a route's name has 1 to %d bytes, not %d", maxName, len(route))
	}
	for _, part := range [][]byte{[]byte(r.Epoch), r.Rollout, r.Judge, r.Guard, r.Ledger} {
		if len(part) > maxPart {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "a part of the record has %d bytes; %d are the limit", len(part), maxPart)
		}
	}
	r.Timeline = r.Timeline[max(0, len(r.Timeline)-MaxTimeline):]
	return json.Marshal(r)
}

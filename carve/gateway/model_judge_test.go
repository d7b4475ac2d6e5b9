package gateway

import (
	"encoding/json"
	"time"

	"whittle"
)

// modelJudge says what the world tells it to.
type modelJudge struct {
	w    *world
	seen int
}

func (j *modelJudge) Observe(*whittle.Exchange) whittle.Observation {
	if j.w.panics {
		panic("a defect")
	}
	if j.w.skip != "" {
		return whittle.Observation{Skip: j.w.skip}
	}
	j.seen++
	return whittle.Observation{}
}

func (j *modelJudge) Verdict() whittle.Verdict {
	return whittle.Verdict{State: j.w.word, Compared: j.seen}
}

func (j *modelJudge) Recheck(*whittle.Recheck) (time.Duration, bool) { return 0, false }
func (j *modelJudge) Known(*whittle.Request) bool                    { return true }
func (j *modelJudge) Served() whittle.Served                         { return whittle.Served{} }
func (j *modelJudge) ServedNeeded(float64) int                       { return 0 }
func (j *modelJudge) MarshalBinary() ([]byte, error)                 { return json.Marshal(j.seen) }
func (j *modelJudge) UnmarshalBinary(b []byte) error                 { return json.Unmarshal(b, &j.seen) }

// modelGuard speaks after one bad response.
type modelGuard struct{ Bad bool }

func (g *modelGuard) Outcome(o whittle.Outcome)      { g.Bad = g.Bad || o.Bad() }
func (g *modelGuard) Pair(whittle.Pair)              {}
func (g *modelGuard) Share(whittle.Share)            {}
func (g *modelGuard) Wait() string                   { return "" }
func (g *modelGuard) Reset()                         { g.Bad = false }
func (g *modelGuard) MarshalBinary() ([]byte, error) { return json.Marshal(g.Bad) }
func (g *modelGuard) UnmarshalBinary(b []byte) error { return json.Unmarshal(b, &g.Bad) }
func (g *modelGuard) Meters() []whittle.Meter {
	return []whittle.Meter{{Name: "errors", Breached: g.Bad, Summary: "It fails."}}
}

package control

import (
	"encoding/json"
	"testing"
	"time"

	"whittle"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// knowing is a judge that decides nothing.
type knowing struct{ Judge }

func (k *knowing) Observe(*whittle.Exchange) whittle.Observation {
	return whittle.Observation{}
}
func (k *knowing) Recheck(*whittle.Recheck) (time.Duration, bool) { return 0, false }
func (k *knowing) Known(*whittle.Request) bool                    { return true }
func (k *knowing) Served() whittle.Served                         { return whittle.Served{} }
func (k *knowing) ServedNeeded(float64) int                       { return 0 }
func (k *knowing) Verdict() whittle.Verdict                       { return whittle.Verdict{State: whittle.Undecided} }
func (k *knowing) MarshalBinary() ([]byte, error)                 { return json.Marshal(0) }
func (k *knowing) UnmarshalBinary([]byte) error                   { return nil }

// judged is a controller of one route, whose judge is a test's, and its route at a
// share.
func judged(t *testing.T, j *knowing, share whittle.Share, change ...func(*Options)) (*Controller, *route) {
	t.Helper()
	o := Options{
		Store: &sheet{r: state.Record{}}, Apply: func(string, whittle.Position) bool { return true },
		NewJudge: func(whittle.Comparison) (Judge, error) { return j, nil },
		Routes: []whittle.Route{{
			Name: "/x", Candidate: &whittle.Upstream{URL: "http://127.0.0.1:1"},
			Rollout: whittle.Rollout{Steps: []whittle.Share{500, whittle.All}, Hold: time.Hour, Harm: 0.005},
		}},
		Now: func() time.Time { return noon },
	}
	for _, c := range change {
		c(&o)
	}
	c, err := New(o)
	fatal.If(t, err)
	c.Start()
	r := c.find("/x")
	if share > 0 {
		r.st.Phase, r.st.Share = whittle.PhaseShift, share
		r.decided.Store(&whittle.Position{Generation: r.generation, Share: share, Phase: whittle.PhaseShift})
	}
	return c, r
}

package control_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/state"
)

// BenchmarkOutcome is what a user's request pays for the guards.
func BenchmarkOutcome(b *testing.B) {
	c, err := control.New(control.Options{
		Store: &memory{journal: &journal{}}, Routes: []whittle.Route{spec(func(r *whittle.Route) { r.Compare.Kind = whittle.Exact })},
		Apply: func(string, whittle.Position) bool { return true },
	})
	if err != nil {
		b.Fatal(err)
	}
	o := whittle.Outcome{Route: name, Side: whittle.Candidate, Status: 200, At: time.Now(), Latency: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		c.Outcome(o)
	}
}

// BenchmarkSave is one record with evidence and a full time line, to the disk.
func BenchmarkSave(b *testing.B) {
	s, err := state.Open(filepath.Join(b.TempDir(), "whittle.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := state.Record{Epoch: "e", Rollout: make([]byte, 300), Judge: make([]byte, 64<<10), Guard: make([]byte, 8<<10)}
	for i := range state.MaxTimeline {
		r.Timeline = append(r.Timeline, whittle.Decision{At: time.Unix(int64(i), 0), Reason: fmt.Sprint("reason ", i), By: "whittle"})
	}
	for n := 0; b.Loop(); n++ {
		r.Ledger = fmt.Appendf(nil, `{"ledger":{"total":%d}}`, n)
		if err := s.Save(name, r); err != nil {
			b.Fatal(err)
		}
	}
}

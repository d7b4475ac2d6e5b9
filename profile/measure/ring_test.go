package measure

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle/profile"
	"whittle/profile/collect"
)

// taken is a measurement of one line with so many milliseconds of CPU.
func taken(t *testing.T, ms, requests int64) *Measured {
	t.Helper()
	f := &pprof.Function{ID: 1, Name: "main.work", Filename: "/srv/main.go"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 7}}}
	in := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*pprof.Function{f}, Location: []*pprof.Location{l}, DurationNanos: 10e9,
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{ms / 10, ms * 1e6}}},
	}
	var raw bytes.Buffer
	if err := in.Write(&raw); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ReadPprof(raw.Bytes(), profile.CPU)
	if err != nil {
		t.Fatal(err)
	}
	p.Requests = map[string]int64{"": requests}
	return &Measured{Taken: []*collect.Collected{{Profile: p, Raw: raw.Bytes(), Ext: ".pb.gz"}}}
}

func TestARingKeepsTheLatestAndComparesTwoSpans(t *testing.T) {
	r := Ring{Folder: filepath.Join(t.TempDir(), "ring [a-b]"), Keep: 3 * time.Hour}
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	if err := os.MkdirAll(filepath.Join(r.Folder, taking, "half"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Folder, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 30 { // every ten minutes, dearer in the last hour
		ms := int64(100)
		if i >= 24 {
			ms = 300
		}
		if err := r.Add(taken(t, ms, 10), begin.Add(time.Duration(i)*10*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if before, last, err := r.Spans(begin, time.Hour); err != nil || before != nil || last == nil {
				t.Errorf("after the first: %v %v %v", before, last, err)
			}
		}
	}
	now := begin.Add(29 * 10 * time.Minute)
	before, last, err := r.Spans(now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if before.Total() != 600e6 || last.Total() != 1800e6 || before.Duration != time.Minute || last.AllRequests() != 60 {
		t.Errorf("before %v in %v, last %v of %d requests", before.Total(), before.Duration, last.Total(), last.AllRequests())
	}
	parts, err := r.parts()
	if err != nil || len(parts) != 19 {
		t.Errorf("%d parts are kept, want those of three hours: %v", len(parts), err)
	}
	for name, want := range map[string]bool{"notes.txt": true, taking: false} {
		if _, err := os.Stat(filepath.Join(r.Folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

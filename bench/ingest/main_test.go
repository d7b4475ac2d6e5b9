package main

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"whittle/bench/table"
)

func TestBodies(t *testing.T) {
	fill := strings.NewReplacer(idTemplate, strings.Repeat("0", idBytes))
	one := fill.Replace(eventJSON(0))
	if len(one) != eventBytes || !json.Valid([]byte(one)) {
		t.Errorf("an event of %d bytes, not %d: %s", len(one), eventBytes, one)
	}
	var many struct{ Batch []json.RawMessage }
	if err := json.Unmarshal([]byte(fill.Replace(batchJSON(50))), &many); err != nil || len(many.Batch) != 50 {
		t.Errorf("a batch of %d events: %v", len(many.Batch), err)
	}
	ids := map[string]bool{} // of one id all but the first would be duplicates, which cost less
	for _, e := range many.Batch {
		var event struct{ MessageID, AnonymousID string }
		if err := json.Unmarshal(e, &event); err != nil || len(e) != eventBytes || event.MessageID == "" || event.AnonymousID == "" {
			t.Errorf("an event of a batch is %s: %v", e, err)
		}
		ids[event.MessageID] = true
	}
	if len(ids) != len(many.Batch) {
		t.Errorf("%d ids in a batch of %d", len(ids), len(many.Batch))
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"10GB": 10e9, "512MB": 512e6, "7kB": 7e3, "0": 0, "123456789012": 123456789012} {
		var b bytes
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%s is %d (%v), not %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1", "1TB", "1.5GB", "99999999999GB"} {
		var b bytes
		if b.Set(text) == nil {
			t.Errorf("%q was taken for %d", text, b)
		}
	}
}

// A figure at its target gives 1, and one that was not measured gives nothing.
func TestTargets(t *testing.T) {
	all := table.Rounds{}
	into := table.New("x")
	for _, v := range []float64{10, 20, 30} {
		all.Add(into, bare, "single_64_"+cpuMetric, v, "us")
		all.Add(into, ours, "single_64_"+cpuMetric, 1.1*v, "us")
		all.Add(into, ours, "batch_50_"+cpuMetric, 6, "us")
	}
	results := table.NewResults("x")
	judge(all, results.Conclude)
	got := map[string]float64{}
	for _, row := range results.Rows() {
		got[row.Metric] = math.Round(1000*row.Value) / 1000
	}
	if want := map[string]float64{"single_64_cpu_per_event_over_target": 1, "batch_50_cpu_per_event_over_target": 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What nobody asked for is neither measured nor started.
func TestOnly(t *testing.T) {
	s, _, err := parse([]string{"-only", "^(single_64|memory)/(ingest|net/http)$"})
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]bool{ours: true, bare: true, grouped: false, node: false, benthos: false} {
		if s.needs(subject) != want {
			t.Errorf("%s is needed: %v", subject, !want)
		}
	}
	if s.measures("single_1000", ours) || !s.measures(memoryScenario, ours) || s.measures(recoveryScenario, ours) {
		t.Error("-only names other scenarios")
	}
	if s, _, err = parse(nil); err != nil || !s.needs(node) || !s.measures(recoveryScenario, ours) {
		t.Errorf("without -only something is left out: %v", err)
	}
	if _, _, err := parse([]string{"-only", "("}); err == nil {
		t.Error("a pattern that is none was taken")
	}
}

func TestParse(t *testing.T) {
	s, out, err := parse(nil)
	if err != nil || s.rounds != 5 || s.recovery != 1<<30 || out != "out" {
		t.Errorf("without flags: %+v, %q, %v", s, out, err)
	}
	for _, flag := range []string{"-rounds=1", "-duration=1ms", "-rate=1", "-steady=1s", "-recovery=9999GB"} {
		if _, _, err := parse([]string{flag}); err == nil {
			t.Errorf("%s was taken", flag)
		}
	}
}

func TestDevice(t *testing.T) {
	d, err := openDevice(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.file.Close()
	if p50, p99, err := d.sample(4<<10, time.Millisecond); err != nil || p50 <= 0 || p99 < p50 {
		t.Errorf("syncs of %v, 99 of 100 below %v: %v", p50, p99, err)
	}
}

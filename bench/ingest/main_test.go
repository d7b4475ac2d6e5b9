package main

import (
	"encoding/json"
	"strings"
	"testing"

	"whittle/internal/fatal"
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

// What nobody asked for is neither measured nor started, and no flag is out of its range.
func TestParse(t *testing.T) {
	s, _, err := parse([]string{"-only", "^(single_64|memory)/ingest$", "-steady", "12s"})
	fatal.If(t, err)
	for subject, want := range map[string]bool{ours: true, bare: false} {
		if s.needs(subject) != want {
			t.Errorf("%s is needed: %v", subject, !want)
		}
	}
	for _, flag := range []string{"-rounds=1", "-duration=1ms", "-rate=1", "-steady=1s", "-only=("} {
		if _, _, err := parse([]string{flag}); err == nil {
			t.Errorf("%s was taken", flag)
		}
	}
}

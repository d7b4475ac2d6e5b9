package smell

import (
	"slices"
	"strings"
	"testing"
)

// One mistake at one line is one finding, with all that was seen of it.
func TestTheParticularSmellIsKept(t *testing.T) {
	at := func(name, file string, line int) Smell {
		return Smell{Name: name, File: file, Line: line, Evidence: "seen of " + name}
	}
	all := []Smell{
		at("gc-pressure", "a.go", 7), at("printing", "a.go", 7), at("printed-message", "a.go", 7),
		at("gc-pressure", "a.go", 9), at("printing", "b.go", 7), at("formatting", "b.go", 7),
		at("sync-crypto", "c.js", 3), at("event-loop-blocked", "c.js", 3), at("sync-call", "c.js", 3),
		at("connection-churn", "", 0), at("lock-contention", "", 0),
	}
	var names []string
	for _, s := range particular(all) {
		names = append(names, s.Name)
		if s.Name == "printed-message" && (!strings.Contains(s.Evidence, "seen of gc-pressure") || !strings.Contains(s.Evidence, "seen of printing")) {
			t.Errorf("evidence %q", s.Evidence)
		}
	}
	want := []string{"printed-message", "gc-pressure", "printing", "sync-crypto", "event-loop-blocked", "sync-call", "connection-churn", "lock-contention"}
	if !slices.Equal(names, want) {
		t.Errorf("kept %q, want %q", names, want)
	}
}

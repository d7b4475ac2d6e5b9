package main

import (
	"path/filepath"
	"testing"

	"whittle/load"
)

// TestPlansAreRead keeps the system's load plans in terms that the runner
// takes.
func TestPlansAreRead(t *testing.T) {
	plans, err := filepath.Glob(filepath.Join(root, "plans", "*.yml"))
	if err != nil || len(plans) < 3 {
		t.Fatalf("%d plans, %v, want at least 3", len(plans), err)
	}
	for _, plan := range plans {
		if _, err := load.ReadPlan(plan); err != nil {
			t.Errorf("%s: %v", plan, err)
		}
	}
}

package main

import (
	"os/exec"
	"testing"

	"whittle/internal/needs"
)

// TestAlertRules: Prometheus takes the alert rules, and they fire when they should.
func TestAlertRules(t *testing.T) {
	promtool := needs.Tool(t, "alert rules in promtool", "apt-get install prometheus", "promtool")
	for _, args := range [][]string{{"check", "rules", "whittle.rules.yaml"}, {"test", "rules", "whittle.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v: %s", args, err, out)
		}
	}
}

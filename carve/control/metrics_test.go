package control_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/control"
)

// metric reads the one series of a name that has no other label than route.
func metric(t *testing.T, c *control.Controller, name string) float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestMetrics(t *testing.T) {
	other := spec(func(r *whittle.Route) { r.Name = "GET /other" })
	h := newRig(t, &memory{}, spec(), other)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(h.c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		series[f.GetName()] = len(f.GetMetric())
	}
	for name, want := range map[string]int{
		"whittle_share": 2, "whittle_phase": 10, "whittle_verdict": 6, "whittle_held": 2,
		"whittle_evidence_exchanges": 2, "whittle_guard_breached": 4, "whittle_guard_e_value": 4,
		"whittle_guard_threshold": 4, "whittle_decisions_kept": 2, "whittle_outcomes_dropped_total": 2,
		"whittle_state_save_failures_total": 2,
	} {
		if series[name] != want {
			t.Errorf("%s has %d series, want %d", name, series[name], want)
		}
	}
}

package control_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/carve/control"
	"whittle/internal/fatal"
)

// metric reads the one series of a name that has no other label than route.
func metric(t *testing.T, c *control.Controller, name string) float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	fatal.If(t, err)
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/control"
	"whittle/internal/fatal"
)

func TestTrafficIsWhatBothSidesDidLately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		defer func() { _ = h.stop() }()
		responded := func(side whittle.Side, status int, d time.Duration) {
			h.c.Outcome(whittle.Outcome{Route: name, Side: side, Status: status, Latency: d, At: time.Now()})
		}
		for i := range 100 {
			responded(whittle.Monolith, 200, time.Duration(i+1)*time.Millisecond)
		}
		for range 20 {
			x := exchange(500)
			x.At = time.Now()
			x.Candidate.Latency = 3 * time.Millisecond
			h.c.Observe(x)
		}
		pass(2 * time.Second)
		s := h.status()
		if want := (whittle.Traffic{PerSecond: 10, P50: 50, P99: 99}); s.Monolith != want {
			t.Errorf("the monolith's traffic is %+v, want %+v", s.Monolith, want)
		}
		if want := (whittle.Traffic{Mirrored: 2, Errors: 1, P50: 3, P99: 3}); s.Candidate != want {
			t.Errorf("the candidate's traffic is %+v, want %+v", s.Candidate, want)
		}
		pass(15 * time.Second)
		if s := h.status(); s.Monolith != (whittle.Traffic{}) || s.Candidate != (whittle.Traffic{}) {
			t.Errorf("long after: %+v, %+v", s.Monolith, s.Candidate)
		}
	})
}

func TestThePastIsBoundedAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		h.run()
		begun := time.Now()
		for range 1000 {
			h.users(whittle.Monolith, 200, 1)
			h.say(whittle.Undecided)
			pass(2 * time.Second)
		}
		p, err := h.c.Past(name)
		fatal.If(t, err)
		if n := len(p.Evidence); n < 60 || n > 120 {
			t.Errorf("%d points of evidence", n)
		}
		if n := len(p.Traffic); n < 60 || n > 120 {
			t.Errorf("%d points of traffic", n)
		}
		if first := p.Evidence[0]; first.At.Sub(begun) > 3*time.Second {
			t.Errorf("the first point is of %v after the beginning", first.At.Sub(begun))
		}
		for i := 1; i < len(p.Evidence); i++ {
			if p.Evidence[i].Compared <= p.Evidence[i-1].Compared || !p.Evidence[i].At.After(p.Evidence[i-1].At) {
				t.Fatalf("points %d and %d: %+v, %+v", i-1, i, p.Evidence[i-1], p.Evidence[i])
			}
		}
		if last := p.Evidence[len(p.Evidence)-1].Compared; last < 900 {
			t.Errorf("the last point is of %d exchanges of 1000", last)
		}
		fatal.If(t, h.stop())

		again := newRig(t, disk, spec())
		q, err := again.c.Past(name)
		if err != nil || len(q.Evidence) < len(p.Evidence) || !q.Evidence[0].At.Equal(p.Evidence[0].At) {
			t.Errorf("after a restart %d points of %d (%v)", len(q.Evidence), len(p.Evidence), err)
		}
		if len(q.Traffic) != 0 {
			t.Errorf("%d points of another process's traffic", len(q.Traffic))
		}
		other := newRig(t, disk, spec(func(r *whittle.Route) { r.Candidate.URL = "http://127.0.0.1:7777" }))
		if q, err := other.c.Past(name); err != nil || len(q.Evidence) != 0 {
			t.Errorf("another candidate has %d points of the old one's (%v)", len(q.Evidence), err)
		}
		if _, err := again.c.Past("nothing"); whittle.CodeOf(err) != whittle.NotFound {
			t.Errorf("of no route: %v", err)
		}
	})
}

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

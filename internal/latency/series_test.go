package latency

import (
	"testing"
	"time"
)

func TestSeriesStaysBoundedAndLosesNothing(t *testing.T) {
	s := NewSeries(time.Second, 10)
	var all Histogram
	for i := range 1000 {
		h := filled(time.Duration(i+1)*time.Millisecond, time.Second)
		all.Merge(h)
		s.Add(time.Duration(i)*time.Second, h)
	}
	ws := s.Windows()
	if len(ws) > 10 {
		t.Fatalf("%d windows, at most 10", len(ws))
	}
	if s.Width() != 128*time.Second {
		t.Errorf("width %v, want 128s", s.Width())
	}
	var n int64
	for i, w := range ws {
		n += w.Count
		if w.Start != time.Duration(i)*s.Width() || w.Width != s.Width() {
			t.Errorf("window %d is at %v, %v wide", i, w.Start, w.Width)
		}
		first := int(w.Start/time.Second) + 1
		if want := time.Duration(first) * time.Millisecond; w.Min != want {
			t.Errorf("window %d: least %v, want %v", i, w.Min, want)
		}
	}
	if n != all.Count() {
		t.Errorf("%d values in the windows, %d recorded", n, all.Count())
	}
}

func TestSeriesJumpsOverSilence(t *testing.T) {
	s := NewSeries(time.Second, 4)
	s.Add(-time.Second, filled(time.Millisecond))
	s.Add(time.Hour, filled(time.Second))
	ws := s.Windows()
	if len(ws) > 4 || ws[0].Count != 1 || ws[len(ws)-1].Count != 1 {
		t.Fatalf("windows %+v", ws)
	}
	if w := ws[len(ws)-1]; w.Start > time.Hour || w.Start+w.Width <= time.Hour {
		t.Errorf("the hour fell into %v..%v", w.Start, w.Start+w.Width)
	}
}

func TestRollingForgets(t *testing.T) {
	r := NewRolling(time.Second, 3)
	r.Add(0, filled(time.Millisecond))
	r.Add(1500*time.Millisecond, filled(2*time.Millisecond))
	r.Add(2*time.Second, filled(3*time.Millisecond))
	for _, c := range []struct {
		at    time.Duration
		count int64
		min   time.Duration
	}{
		{2900 * time.Millisecond, 3, time.Millisecond},
		{3 * time.Second, 2, 2 * time.Millisecond},
		{4 * time.Second, 1, 3 * time.Millisecond},
		{5 * time.Second, 0, 0},
	} {
		if s := r.Snapshot(c.at); s.Count != c.count || s.Min != c.min {
			t.Errorf("at %v: %d from %v, want %d from %v", c.at, s.Count, s.Min, c.count, c.min)
		}
	}
	r.Add(9*time.Second, filled(7*time.Millisecond))
	if s := r.Snapshot(9 * time.Second); s.Count != 1 || s.Max != 7*time.Millisecond {
		t.Errorf("a reused slot kept something: %+v", s)
	}
}

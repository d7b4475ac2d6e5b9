package latency

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle/internal/fatal"
)

func filled(ds ...time.Duration) *Histogram {
	h := new(Histogram)
	for _, d := range ds {
		h.Record(d)
	}
	return h
}

func near(got, want time.Duration) bool {
	return (got - want).Abs() <= max(want/1000, Lowest)
}

func TestQuantilesMatchTheSortedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		values := make([]time.Duration, 1+rng.IntN(5000))
		h := new(Histogram)
		for i := range values {
			values[i] = time.Duration(rng.ExpFloat64() * float64(50*time.Millisecond))
			h.Record(values[i])
		}
		slices.Sort(values)
		for _, q := range []float64{0, .01, .5, .9, .95, .99, .999, 1} {
			rank := int(q*float64(len(values)) + .5)
			want := values[min(max(rank-1, 0), len(values)-1)]
			if got := h.Quantile(q); !near(got, want) {
				t.Fatalf("quantile %v of %d values: %v, want %v", q, len(values), got, want)
			}
		}
	}
}

func TestNothingIsLostOutOfRange(t *testing.T) {
	h := filled(-time.Second, 0, 300*time.Nanosecond, time.Microsecond, time.Hour, 2*time.Hour, 100*24*time.Hour)
	s := h.Snapshot()
	if s.Count != 7 || s.Below != 3 || s.Above != 2 {
		t.Fatalf("count %d, below %d, above %d, want 7, 3, 2", s.Count, s.Below, s.Above)
	}
	if s.Min != 0 || s.Max != 100*24*time.Hour {
		t.Errorf("extremes %v to %v are not exact", s.Min, s.Max)
	}
	fatal.Same(t, s.P50, time.Microsecond, "median")
}

func TestMeanIsExactPast64Bits(t *testing.T) {
	h := new(Histogram)
	h.RecordN(30*time.Minute, 1e10) // 1.8e22 ns
	if got := h.Mean(); !near(got, 30*time.Minute) {
		t.Errorf("mean %v, want 30m", got)
	}
}

func TestMergingEqualsRecordingTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var all, sum Histogram
	for range 5 {
		part := new(Histogram)
		for range 1000 {
			d := time.Duration(rng.Int64N(int64(2 * time.Hour)))
			part.Record(d)
			all.Record(d)
		}
		sum.Merge(part)
	}
	fatal.Same(t, sum.Snapshot(), all.Snapshot(), "merged")
	if !slices.Equal(sum.Bars(), all.Bars()) {
		t.Error("the buckets differ")
	}
}

func TestJSONKeepsEverything(t *testing.T) {
	for name, h := range map[string]*Histogram{
		"empty":  new(Histogram),
		"one":    filled(42 * time.Millisecond),
		"spread": filled(1, 30*time.Microsecond, 7*time.Second, 3*time.Hour),
	} {
		b, err := json.Marshal(h)
		fatal.If(t, err)
		back := new(Histogram)
		if err := json.Unmarshal(b, back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if back.Snapshot() != h.Snapshot() || !slices.Equal(back.Bars(), h.Bars()) {
			t.Errorf("%s: %+v came back as %+v", name, h.Snapshot(), back.Snapshot())
		}
	}
	s := filled(time.Millisecond, 1500*time.Microsecond).Snapshot()
	b, _ := json.Marshal(s)
	fatal.Has(t, string(b), `"max_ms":1.5`)
	var back Snapshot
	if err := json.Unmarshal(b, &back); err != nil || back != s {
		t.Errorf("snapshot came back as %+v (%v)", back, err)
	}
}

func FuzzHistogramJSON(f *testing.F) {
	b, _ := json.Marshal(filled(time.Millisecond, time.Second))
	f.Add(b)
	f.Add([]byte(`{"unit":"us","hdr":"","min_ns":5}`))
	f.Add([]byte(`{"unit":"us","hdr":"HISTFAAAABh4nJNpmSzMwMDAxAABzFCaEUoz2X+AsQA/awKA","min_ns":1,"max_ns":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := new(Histogram)
		if json.Unmarshal(b, h) != nil {
			return
		}
		s := h.Snapshot()
		if s.Min > s.P50 || s.P50 > s.P99 || s.P99 > s.Max || s.Below+s.Above > s.Count {
			t.Errorf("accepted a contradiction: %+v", s)
		}
	})
}

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
	fatal.Same(t, s.Width(), 128*time.Second, "width")
	var n int64
	for i, w := range ws {
		n += w.Count
		if w.Start != time.Duration(i)*s.Width() || w.Width != s.Width() {
			t.Errorf("window %d is at %v, %v wide", i, w.Start, w.Width)
		}
		first := int(w.Start/time.Second) + 1
		fatal.Same(t, w.Min, time.Duration(first)*time.Millisecond, "window %d: least", i)
	}
	fatal.Same(t, n, all.Count(), "values in the windows")
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

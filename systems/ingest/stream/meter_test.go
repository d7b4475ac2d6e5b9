package stream

import (
	"testing"
	"time"
)

func TestMeterForgets(t *testing.T) {
	var m Meter
	now := time.Unix(1_700_000_000, 0)
	if _, got := m.Rate(now); got != 0 {
		t.Errorf("rate at first %v, want 0: not known", got)
	}
	for i := range 20 {
		m.Add(now.Add(time.Duration(i)*time.Second), 2, 1000)
		if records, bytes := m.Rate(now.Add(time.Duration(i) * time.Second)); records != 2 || bytes != 1000 {
			t.Errorf("second %d: rates %v and %v, want 2 and 1000", i, records, bytes)
		}
	}
	if _, got := m.Rate(now.Add(time.Hour)); got != 0 {
		t.Errorf("rate after an hour %v, want 0: not known", got)
	}
	m.Add(now.Add(time.Hour), 2, 1000)
	for second, want := range []float64{1000, 500} {
		if _, got := m.Rate(now.Add(time.Hour + time.Duration(second)*time.Second)); got != want {
			t.Errorf("rate %d seconds after it began again %v, want %v", second, got, want)
		}
	}
}

func TestMeterBeginsWithWhatWasTaken(t *testing.T) {
	var m Meter
	now := time.Unix(1_700_000_000, 0)
	m.Add(now, 0, 0)
	m.Add(now.Add(5*time.Second), 2, 1000)
	if records, bytes := m.Rate(now.Add(5 * time.Second)); records != 2 || bytes != 1000 {
		t.Errorf("rates %v and %v, want 2 and 1000", records, bytes)
	}
}

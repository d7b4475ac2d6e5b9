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
}

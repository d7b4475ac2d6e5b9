package stream

import (
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
)

func TestMeter(t *testing.T) {
	var m Meter
	now := time.Unix(0, 0)
	if m.Rate(now) != 0 {
		t.Error("a rate of nothing")
	}
	var sum float64
	const rate, every = 1e6, 10 * time.Second
	for range 100 {
		now = now.Add(every)
		m.Add(rate*every.Seconds(), now)
	}
	for range 10 {
		now = now.Add(every / 10)
		sum += m.Rate(now)
	}
	if got := sum / 10; math.Abs(got-rate) > rate/20 {
		t.Errorf("a steady %v is read as %v", rate, got)
	}
	if got := m.Rate(now.Add(time.Hour)); got != 0 {
		t.Errorf("an hour later it is %v still", got)
	}
	if got := m.Rate(now.Add(-time.Hour)); math.IsInf(got, 0) || got > 2*rate {
		t.Errorf("a clock that goes back makes it %v", got)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		r  Record
		ok bool
	}{
		"small":           {Record{Value: []byte("v")}, true},
		"too long":        {Record{Value: make([]byte, 1000)}, false},
		"id too long":     {Record{ID: strings.Repeat("i", MaxID+1)}, false},
		"key too long":    {Record{Key: strings.Repeat("k", MaxKey+1)}, false},
		"too many heads":  {Record{Header: make([]Header, MaxHeaders+1)}, false},
		"as many as most": {Record{Header: make([]Header, MaxHeaders)}, true},
	} {
		if err := Check(&c.r, 500); (err == nil) != c.ok || err != nil && whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

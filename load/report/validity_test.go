package report

import (
	"testing"
	"time"
)

func TestLatenessBeyondItsBoundVoidsARun(t *testing.T) {
	var v Views
	v.ScheduleError.P99 = 30 * time.Millisecond
	v.Intended.P50 = 50 * time.Millisecond
	if voidReason(&v, 10*time.Millisecond) == "" {
		t.Error("30 ms late at a median of 50 ms passed")
	}
	v.Intended.P50 = 16 * time.Second
	if why := voidReason(&v, 10*time.Millisecond); why != "" {
		t.Errorf("30 ms late at a median of 16 s: %s", why)
	}
	v.Intended.P50, v.ScheduleError.P99 = 50*time.Millisecond, 9*time.Millisecond
	if why := voidReason(&v, 10*time.Millisecond); why != "" {
		t.Errorf("9 ms late: %s", why)
	}
}

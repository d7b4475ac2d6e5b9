package report

import (
	"strings"
	"testing"
	"time"

	"whittle/internal/latency"
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

// Requests that failed are in the percentiles, and where they move one the report says so.
func TestWhatPullsAPercentileIsSaid(t *testing.T) {
	r := Report{Requests: 100, Completed: 100, Failed: 70}
	r.Latency.Intended = latency.Snapshot{Count: 100, P50: time.Millisecond, P95: 800 * time.Millisecond, P99: 800 * time.Millisecond}
	r.Latency.Succeeded = latency.Snapshot{Count: 30, P50: 800 * time.Millisecond, P95: 800 * time.Millisecond, P99: 800 * time.Millisecond}
	if got := r.pulled(); !strings.Contains(got, "the median is 1.00 ms with them and 800 ms of successes alone, which a bound looks at as success.median") {
		t.Errorf("%q", got)
	}
	r.Latency.Succeeded.P50 = time.Millisecond
	if got := r.pulled(); got != "" {
		t.Errorf("nothing is pulled: %q", got)
	}
}

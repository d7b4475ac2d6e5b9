package breaker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOneSlowResponseIsForgotten: on a route with one request a minute, where it
// would take 700 of them, a slow response is forgotten in time; and a night without
// any changes nothing.
func TestOneSlowResponseIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := opened(false)
		defer b.Stop()
		b.ObserveMirrored(10 * time.Second)
		for range 11 {
			time.Sleep(time.Minute)
			b.ObserveMirrored(time.Millisecond)
		}
		if got := b.Slowest(); got != time.Millisecond {
			t.Errorf("after 11 minutes the slowest is %v", got)
		}
		b.ObserveMirrored(time.Second)
		time.Sleep(12 * time.Hour)
		b.ObserveMirrored(time.Millisecond)
		if got := b.Slowest(); got < 900*time.Millisecond {
			t.Errorf("after a night the slowest is %v", got)
		}
	})
}

// TestForgottenPaceIsLearnedAnew: what is known of one candidate does not hold the
// rule for the next.
func TestForgottenPaceIsLearnedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, got := opened(false)
		defer b.Stop()
		b.ObserveMirrored(10 * time.Second)
		b.Forget()
		b.ObserveMirrored(time.Millisecond)
		for range tight.consecutive {
			b.Admit(time.Now(), tight)
		}
		time.Sleep(minStallTimeout)
		synctest.Wait()
		if len(got.reasons) != 1 {
			t.Errorf("a candidate that hangs has not tripped the breaker after %v", minStallTimeout)
		}
	})
}

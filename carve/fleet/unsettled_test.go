package fleet

import (
	"testing"
	"time"
)

// TestUnsettled: a message is sent again in its turn while the store remembers its name by
// either clock, and given up afterwards, or where there is no room for it.
func TestUnsettled(t *testing.T) {
	at := func(mono, wall time.Duration) Instant { return Instant{Mono: mono, Wall: wall} }
	u := Unsettled{Remembered: time.Minute, Bytes: 10}
	next := func(now Instant, want string) {
		t.Helper()
		s, ok := u.Next(now)
		if ok != (want != "") || s.ID != want {
			t.Errorf("at %v: %q, want %q", now, s.ID, want)
		}
		if ok {
			u.Add(s)
		}
	}
	next(at(0, 0), "")
	u.Add(Sending{ID: "a", Message: make([]byte, 4), First: at(0, 0)})
	u.Add(Sending{ID: "b", Message: make([]byte, 4), First: at(20*time.Second, 20*time.Second)})
	u.Add(Sending{ID: "large", Message: make([]byte, 4), First: at(0, 0)})
	if u.GivenUp != 1 {
		t.Errorf("%d were given up without room", u.GivenUp)
	}
	next(at(21*time.Second, 21*time.Second), "a")
	next(at(22*time.Second, 22*time.Second), "b")
	next(at(23*time.Second, 23*time.Second), "a")
	u.Add(Sending{ID: "c", Message: make([]byte, 2), First: at(30*time.Second, 30*time.Second)})
	next(at(70*time.Second, 70*time.Second), "b") // in its turn
	next(at(70*time.Second, 70*time.Second), "c") // a's name may be forgotten
	next(at(70*time.Second, 85*time.Second), "c") // b's, by the clock that goes on in a suspension
	next(at(70*time.Second, 95*time.Second), "")
	if u.GivenUp != 4 || u.bytes != 0 {
		t.Errorf("%d were given up, %d bytes are kept", u.GivenUp, u.bytes)
	}
}

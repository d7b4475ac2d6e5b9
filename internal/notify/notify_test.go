package notify

import (
	"sync"
	"testing"
)

func TestManyAreOne(t *testing.T) {
	s := New()
	for range 3 {
		s.Notify()
	}
	<-s
	select {
	case <-s:
		t.Error("a second wake-up")
	default:
	}
	s.Notify()
	<-s
}

// TestNoneIsLost: a counter that is raised before each Notify is seen at its end
// by who looks after each wake-up, however the two interleave.
func TestNoneIsLost(t *testing.T) {
	const last = 10_000
	s := New()
	var mu sync.Mutex
	n := 0
	go func() {
		for range last {
			mu.Lock()
			n++
			mu.Unlock()
			s.Notify()
		}
	}()
	for seen := 0; seen < last; {
		<-s
		mu.Lock()
		seen = n
		mu.Unlock()
	}
}

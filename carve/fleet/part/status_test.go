package part

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"whittle/carve/fleet/jetstream"
)

// Those who asked for the fleet while its store hung have what came of the one question, each
// as it gets the lock: pages and commands must not be gone when they are needed most.
func TestAStoreThatHangsIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hangs, many = 5 * time.Second, 20
		var m members
		asked := 0
		begun := time.Now()
		for range many {
			m.renew(func() ([]jetstream.Reported, error) {
				asked++
				time.Sleep(hangs)
				return nil, context.DeadlineExceeded
			})
			if m.failed == nil {
				t.Fatal("no error is kept")
			}
		}
		if waited := time.Since(begun); waited > hangs || asked != 1 {
			t.Errorf("%d have waited for %v, and the store was asked %d times", many, waited, asked)
		}
	})
}

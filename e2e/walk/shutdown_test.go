package walk

import (
	"syscall"
	"testing"
	"time"

	"whittle/e2e/process"
)

// TestTerm ends whittle under load: whoever got a connection gets a response.
func TestTerm(t *testing.T) {
	const rounds, users = 6, 24
	m := process.Monolith(t)
	for round := range rounds {
		g := open(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true})
		gone := make(chan struct{})
		c := gather(g.Public, users, func(u *user, i int) error {
			if u.conn == nil && i > 0 {
				select {
				case <-gone: // nobody is there to connect to any more
					<-time.After(pollEvery)
					return nil
				default:
				}
			}
			return u.count(1000 + 20_000*(i%3))
		})
		c.more(t, 4*users)
		close(gone)
		g.Signal(t, syscall.SIGTERM)
		ended := g.Wait()
		c.home()
		if ended != nil {
			t.Errorf("round %d: it ended with %v\n%s", round, ended, g.Said())
		}
		c.content(t)
	}
}

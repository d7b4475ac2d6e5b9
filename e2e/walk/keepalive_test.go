package walk

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/e2e/process"
)

// The monolith closes a connection that has been idle for nodeIdle. While it
// counts it does nothing else, and looks at its clock before its sockets when
// it is done: what came over an idle connection in between is thrown away.
const (
	nodeIdle = 5 * time.Second
	// busy is how many draws keep it from its sockets for a good while.
	busy = 60_000_000
)

// TestIdleConnections has many users come back just when the monolith gives up
// the connections that the gateway keeps to it. No user may notice: neither on
// a route that is safe, nor where a request may be sent only once.
func TestIdleConnections(t *testing.T) {
	const each = 20
	m := process.Monolith(t)
	g := open(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true})
	// Short requests and long ones go over connections of different kinds. The
	// monolith does not mind a path's case; the route does.
	var groups []func(u *user) error
	for _, path := range []string{"/Count", "/count"} {
		for _, pad := range []int{0, 8 << 10} {
			groups = append(groups, func(u *user) error {
				body := fmt.Sprintf(`{"times":1000,"pad":"%s"}`, strings.Repeat("x", pad))
				status, response, err := u.ask(http.MethodPost, path, body)
				if err == nil && (status != http.StatusOK || !strings.HasPrefix(response, "Counted to ")) {
					err = fmt.Errorf("answered %d %.80q", status, response)
				}
				if err != nil {
					return fmt.Errorf("POST %s with %d bytes: %w", path, len(body), err)
				}
				return nil
			})
		}
	}
	users := make([]*user, each*len(groups))
	for i := range users {
		users[i] = newUser(g.Public, i)
		defer users[i].close()
	}
	all := func(wait func(i int) <-chan time.Time) {
		var wg sync.WaitGroup
		for i, u := range users {
			wg.Go(func() {
				<-wait(i)
				if err := groups[i%len(groups)](u); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	now := make(chan time.Time)
	close(now)
	all(func(int) <-chan time.Time { return now })
	opened := time.Now()

	counting := make(chan error, 1)
	go func() {
		direct := newUser(m.Public, 0)
		defer direct.close()
		<-time.After(time.Until(opened.Add(nodeIdle - 200*time.Millisecond)))
		counting <- direct.count(busy)
	}()
	// They come back over the half second in which it counts.
	all(func(i int) <-chan time.Time {
		late := time.Duration(i)*500*time.Millisecond/time.Duration(len(users)) - 150*time.Millisecond
		return time.After(time.Until(opened.Add(nodeIdle + late)))
	})
	if err := <-counting; err != nil {
		t.Error(err)
	}
}

package walk

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"whittle"
	"whittle/e2e/process"
)

// TestLedger sends requests of every kind, also such that are given up half
// way, and finds each in the ledger of its route once.
func TestLedger(t *testing.T) {
	const users, each, largest = 16, 60, 2 << 10
	m := process.Monolith(t)
	candidate := newFake(t).address()
	g := open(t, setting{
		Monolith: m.Public, Candidate: candidate, Plain: true, Mirror: "{shed_above: off, max_body: 2KiB, queue: 16, concurrency: 2}",
		More: fmt.Sprintf(`
  - match: /{$}
    candidate: http://%s
  - match: POST /orders
    candidate: http://%s
`, candidate, candidate),
	})
	var sent struct{ count, home, orders, aborted atomic.Int64 }
	var wg sync.WaitGroup
	for k := range users {
		wg.Go(func() {
			u := newUser(g.Public, k)
			defer u.close()
			for i := range each {
				var err error
				switch i % 8 {
				case 0, 1:
					sent.count.Add(1)
					err = u.count(1000)
				case 2:
					sent.count.Add(1)
					err = u.expect(http.StatusOK, http.MethodPost, "/Count", fmt.Sprintf(`{"times":10,"pad":"%s"}`, strings.Repeat("x", largest)))
				case 3:
					sent.orders.Add(1)
					err = u.expect(http.StatusNotFound, http.MethodPost, "/orders", "{}")
				case 4:
					sent.home.Add(1)
					err = u.expect(http.StatusOK, http.MethodGet, "/", "")
				case 5:
					sent.home.Add(1)
					err = u.expect(http.StatusOK, http.MethodHead, "/", "")
				case 6:
					sent.count.Add(1)
					sent.aborted.Add(1)
					err = u.abandon(`{"times":100000}`, i%16 == 6)
				case 7:
					err = u.expect(http.StatusNotFound, http.MethodGet, "/elsewhere", "")
				}
				if err != nil {
					t.Errorf("%s, request %d: %v", u.name, i, err)
				}
			}
		})
	}
	wg.Wait()
	for route, n := range map[string]int64{countRoute: sent.count.Load(), "/{$}": sent.home.Load(), "POST /orders": sent.orders.Load()} {
		// The last of those given up may not have arrived yet.
		on := g.on(route)
		on.await(t, "every request to have arrived", func(r *whittle.RouteStatus) bool { return r.Ledger.Total >= n })
		l := on.atRest(t)
		t.Logf("%s: %+v", route, l)
		if l.Total != n {
			t.Errorf("%s: %d requests were sent, ledger %+v", route, n, l)
		}
		switch route {
		case countRoute:
			if want := int64(users * each / 8); l.Skipped[whittle.SkipTooLarge] < want {
				t.Errorf("%d were too large, %d of them in the ledger", want, l.Skipped[whittle.SkipTooLarge])
			}
			if c := l.Skipped[whittle.SkipCanceled]; c == 0 || c > sent.aborted.Load() {
				t.Errorf("%d were given up, %d of them in the ledger", sent.aborted.Load(), c)
			}
		case "POST /orders":
			if l.Skipped[whittle.SkipNotSafe] != n {
				t.Errorf("%d were not safe: %+v", n, l)
			}
		}
	}
}

// expect asks and holds the response to a status.
func (u *user) expect(status int, method, path, body string) error {
	got, response, err := u.ask(method, path, body)
	if err == nil && got != status {
		err = fmt.Errorf("%s %s answered %d %.80q", method, path, got, response)
	}
	return err
}

// abandon asks for a count and leaves: in the middle of the body, or before the
// response has come.
func (u *user) abandon(body string, half bool) error {
	if err := u.connect(); err != nil {
		return err
	}
	defer u.close()
	request := u.request(http.MethodPost, "/Count", body)
	if half {
		request = request[:len(request)-len(body)/2]
	}
	_, err := u.conn.Write(request)
	return err
}

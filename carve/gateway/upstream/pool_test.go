package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"whittle"
)

// patient answers every request on every connection; it gives its address and
// the number of the connections it has had.
func patient(t *testing.T) (addr string, conns func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			n++
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func dialing(addr string) func(context.Context, string) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context, _ string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
}

// age makes the pool's idle connections look unused for d.
func (p *pool) age(d time.Duration) (idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.idleSince = c.idleSince.Add(-d)
	}
	return len(p.idle)
}

// TestOnlyOnceGoesOverTrustedConnections: a request that cannot be repeated
// does not meet an upstream that is about to close an idle connection, and one
// that can be repeated does not pay for that.
func TestOnlyOnceGoesOverTrustedConnections(t *testing.T) {
	addr, conns := patient(t)
	p := newPool(dialing(addr), &slots{limit: 8, wait: time.Second}, patienceOf(&whittle.Upstream{}))
	t.Cleanup(p.close)
	const justNow = -time.Minute // however long the machine stood since
	for i, step := range []struct {
		again bool
		age   time.Duration
		conns int
	}{
		{again: false, conns: 1},
		{again: false, age: justNow, conns: 1},
		{again: true, age: 10 * trusted, conns: 1},
		{again: false, age: 2 * trusted, conns: 2},
		{again: false, age: justNow, conns: 2},
		{again: false, age: 2 * trusted, conns: 3},
		{again: true, age: 2 * trusted, conns: 3},
	} {
		p.age(step.age)
		p.slots.taken++
		c, err := p.do(context.Background(), &leanCall{
			request: []byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
			method:  http.MethodPost, again: step.again, limit: 10 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		c.finish()
		if got := conns(); got != step.conns {
			t.Errorf("step %d: %d connections, want %d", i, got, step.conns)
		}
		if idle := p.age(0); idle != 1 {
			t.Errorf("step %d: %d idle connections, want 1: the new one takes the oldest's place", i, idle)
		}
	}
}

// TestOnlyOnceGoesOverTrustedConnectionsByTLSToo: a call for a user, and not
// only a request that is passed on, does not meet a connection that was idle
// for long. Here those of the transport that keeps them cannot be had at all.
func TestOnlyOnceGoesOverTrustedConnectionsByTLSToo(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }))
	t.Cleanup(srv.Close)
	u, err := New(whittle.Upstream{URL: srv.URL, Insecure: true}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	u.group.Load().all[0].ways.Load().by[wayKept].DialTLSContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("this is the transport that keeps connections")
	}
	for _, tt := range []struct {
		method string
		key    []string
		once   bool
	}{
		{http.MethodPost, nil, true},
		{http.MethodDelete, nil, true},
		{http.MethodGet, nil, false},
		{http.MethodPost, []string{}, false}, // of a route that is safe
	} {
		u.http1.Store(false) // as long as it is not known, net/http's transport is used
		q := &whittle.Request{Method: tt.method, Target: "/", Host: "h", Header: whittle.Header{}, Body: []byte("x")}
		if tt.key != nil {
			q.Header["X-Idempotency-Key"] = tt.key
		}
		if a := u.Call(t.Context(), q, 0, nil); (a.Failure == whittle.NoFailure) != tt.once {
			t.Errorf("%s with key %v: %d %s", tt.method, tt.key, a.Status, a.Detail)
		}
	}
}

// shut is a connection that takes nothing any more.
type shut struct{ net.Conn }

func (shut) Write([]byte) (int, error) { return 0, &net.OpError{Op: "write", Err: net.ErrClosed} }

// TestNothingSentIsSentAgain: a request of which not a byte has gone out can be
// repeated whatever its method.
func TestNothingSentIsSentAgain(t *testing.T) {
	addr, conns := patient(t)
	p := newPool(dialing(addr), &slots{limit: 8, wait: time.Second}, patienceOf(&whittle.Upstream{}))
	t.Cleanup(p.close)
	call := &leanCall{request: []byte("POST / HTTP/1.1\r\nHost: x\r\n\r\n"), method: http.MethodPost, limit: 10 * time.Second}
	p.slots.taken++
	c, err := p.do(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	c.finish()
	c.net = shut{c.net} // idle in the pool
	p.slots.taken++
	if c, err = p.do(context.Background(), call); err != nil {
		t.Fatalf("%v (%s)", err, whittle.FailedReset)
	}
	c.finish()
	if got := conns(); got != 2 {
		t.Errorf("%d connections", got)
	}
}

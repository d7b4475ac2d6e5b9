package upstream

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

// patient answers every request on every connection; it gives its address and
// the number of the connections it has had.
func patient(t *testing.T) (addr string, conns func() int) {
	t.Helper()
	var n atomic.Int64
	url := rawtest.Serve(t, func(c net.Conn, _ int) {
		n.Add(1)
		r := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	return strings.TrimPrefix(url, "http://"), func() int { return int(n.Load()) }
}

func dialing(addr string) func(context.Context) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
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
		fatal.If(t, err)
		c.finish()
		if got := conns(); got != step.conns {
			t.Errorf("step %d: %d connections, want %d", i, got, step.conns)
		}
		if idle := p.age(0); idle != 1 {
			t.Errorf("step %d: %d idle connections, want 1: the new one takes the oldest's place", i, idle)
		}
	}
}

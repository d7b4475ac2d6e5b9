//go:build !race

// The race detector's frames are larger.

package gateway

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestIdleConnectionsKeepSmallStacks: a request in bytes fits into a stack of 4 KiB, which is
// what its connection keeps while it is idle, until garbage is collected.
func TestIdleConnectionsKeepSmallStacks(t *testing.T) {
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	t.Cleanup(m.Close)
	ls, _ := facing(t, 1)
	g := behind(t, ls[0], Options{Monolith: upstreamAt(m.URL)})
	b := make([]byte, 512)
	ask := func() {
		c, err := net.Dial("tcp", ls[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(b); err != nil || !bytes.HasPrefix(b[:n], []byte("HTTP/1.1 200")) {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
	stacks := func() uint64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.StackInuse
	}
	for range 64 { // what everybody shares, and stacks that are kept for the next goroutine
		ask()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const connections = 512
	before := stacks()
	for range connections {
		ask()
	}
	each := (stacks() - before) / connections
	if g.counts.inBytes.Load() < connections {
		t.Errorf("%d requests were served in bytes", g.counts.inBytes.Load())
	}
	if each > 6<<10 {
		t.Errorf("an idle connection keeps %d bytes of stack, want 4 KiB", each)
	}
}

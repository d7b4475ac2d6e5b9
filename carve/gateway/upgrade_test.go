package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/listener"
)

// What follows a request to change protocols was not checked for framing, so a
// connection on which the change did not come about is not used again.
func TestFailedUpgradeEndsTheConnection(t *testing.T) {
	g, err := New(Options{Monolith: whittle.Upstream{URL: nobody}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != http.StatusBadGateway || w.Header().Get("Connection") != "close" {
		t.Errorf("answered %d, Connection %q", w.Code, w.Header().Get("Connection"))
	}
}

// TestUpgradedConnectionsHaveTheirOwnTime: at the end and at a replacement they go on for as
// long as the config says, whatever requests that are under way still take.
func TestUpgradedConnectionsHaveTheirOwnTime(t *testing.T) {
	goOn := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			_ = http.NewResponseController(w).Flush()
			<-goOn
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, c)
	}))
	t.Cleanup(server.Close)
	defer close(goOn)
	for name, leave := range map[string]func(*Gateway, context.CancelFunc){
		"ended":    func(_ *Gateway, end context.CancelFunc) { end() },
		"replaced": func(g *Gateway, _ context.CancelFunc) { g.Replace() },
	} {
		t.Run(name, func(t *testing.T) {
			ls, _ := facing(t, 1)
			g, err := New(Options{Monolith: upstreamAt(server.URL), Limits: whittle.Limits{Grace: time.Hour}, UpgradeGrace: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			served := make(chan error, 1)
			go func() { served <- g.Serve(ctx, listener.Listener{Listener: ls[0]}) }()
			ask := func(head string, status int) net.Conn {
				c, err := net.Dial("tcp", ls[0].Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = io.WriteString(c, head)
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || resp.StatusCode != status {
					t.Fatal(resp, err)
				}
				return c
			}
			slow := ask("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", http.StatusOK)
			upgraded := ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", http.StatusSwitchingProtocols)
			leave(g, end)
			if n, err := upgraded.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the upgraded connection gives %d, %v", n, err)
			}
			select {
			case err := <-served:
				t.Errorf("it ended (%v) before its request", err)
			default:
			}
			_ = upgraded.Close()
			_ = slow.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/report"
	"whittle/load/wire"
)

// startHTTP2 serves HTTP/2, and counts the connections that were opened.
func startHTTP2(t *testing.T, secure bool, h http.HandlerFunc) (url string, opened *atomic.Int64) {
	t.Helper()
	opened = new(atomic.Int64)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Config.Protocols = new(http.Protocols)
	if secure {
		srv.EnableHTTP2 = true
		srv.Config.Protocols.SetHTTP2(true)
		srv.Config.Protocols.SetHTTP1(true)
		srv.StartTLS()
	} else {
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv.URL, opened
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, pool := range []int{0, 2} {
			t.Run(fmt.Sprintf("tls %v pool %d", secure, pool), func(t *testing.T) {
				var wrong atomic.Int64
				url, opened := startHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if r.ProtoMajor != 2 || r.URL.Path == "/again" && (r.Method != "PUT" || string(body) != `{"id":"x7"}` || r.Header.Get("X-Of") != "x7") {
						wrong.Add(1)
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"id":"x7"}`)
				})
				p := parsed(t, `
config: {phases: [{duration: 0.3, arrivalCount: 30}], tls: {rejectUnauthorized: false}, http: {timeout: 60}}
scenarios:
- flow:
  - get: {url: /first?a=1, capture: {json: $.id, as: id}, expect: {statusCode: 200, contentType: json}}
  - put: {url: /again, headers: {x-of: "{{ id }}"}, json: {id: "{{ id }}"}}`)
				r := run(t, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool})
				if r.Completed != 60 || r.Failed != 0 || wrong.Load() != 0 {
					t.Errorf("%d completed, %d failed %v, %d wrong at the server; want 60 and none", r.Completed, r.Failed, r.Errors, wrong.Load())
				}
				n, most := opened.Load(), int64(cmp.Or(pool, 30))
				if n < 1 || n > most || pool == 0 && n < most || r.Latency.Connect.Count != n {
					t.Errorf("%d connections opened, %d timed; want %d, or fewer with a pool", n, r.Latency.Connect.Count, most)
				}
				if r.Latency.FirstByte.Count != 60 || r.Sent < 60*20 || r.Received < 60*20 {
					t.Errorf("%d first bytes, %d sent, %d received", r.Latency.FirstByte.Count, r.Sent, r.Received)
				}
			})
		}
	}
}

func TestHTTP2GoesOnAfterAConnectionEnded(t *testing.T) {
	for _, pool := range []int{0, 1} {
		url, opened := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/last" {
				w.Header().Set("Connection", "close") // in HTTP/2: GOAWAY after this
			}
		})
		p := parsed(t, `
config: {phases: [{duration: 0.1, arrivalCount: 3}], http: {timeout: 60}}
scenarios: [{flow: [{get: {url: /last}}, {think: 200ms}, {get: {url: /next}}]}]`)
		r := run(t, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool})
		if r.Completed != 6 || r.Failed != 0 || opened.Load() < 2 {
			t.Errorf("pool %d: %d completed, %d failed %v, over %d connections", pool, r.Completed, r.Failed, r.Errors, opened.Load())
		}
	}
}

func TestHTTP2IsCutWithTheRun(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{0, 1} {
		url, _ := startHTTP2(t, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancel(t.Context())
		p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 5}, {pause: 60}], http: {timeout: 60}}\nscenarios: [{flow: [{get: {url: /}}]}]")
		r, err := Run(ctx, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool, Grace: -1, OnProgress: func(p report.Progress) {
			if p.InFlight == 5 {
				cancel()
			}
		}})
		cancel()
		fatal.If(t, err)
		if r.Unfinished != 5 || r.Failed != 0 {
			t.Errorf("pool %d: %d unfinished, %d failed %v; want 5 and none", pool, r.Unfinished, r.Failed, r.Errors)
		}
	}
}

func TestProtocolsAreChecked(t *testing.T) {
	p := parsed(t, small)
	for want, o := range map[string]Options{
		`the protocol "h3" is neither`: {Protocol: "h3"},
		`the protocol "grpc" is`:       {Protocol: "grpc"},
	} {
		o.Target = "http://127.0.0.1:1"
		if _, err := Run(t.Context(), p, o); err == nil || !strings.Contains(err.Error(), want) || whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

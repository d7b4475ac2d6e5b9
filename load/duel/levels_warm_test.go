package duel

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/wire"
)

// A table's runs begin once each target has been loaded with as many users, over HTTP/2
// as over HTTP/1.1; nothing of that is counted.
func TestATableWarmsUpOverEitherProtocol(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
		var asked, otherwise atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if (r.ProtoMajor == 2) != (protocol == wire.HTTP2) {
				otherwise.Add(1)
			}
		}))
		srv.Config.Protocols = new(http.Protocols)
		srv.Config.Protocols.SetHTTP1(true)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
		defer srv.Close()
		r, err := Levels{
			Plan: parsed(t, duelPlan), A: Side{Target: srv.URL}, B: Side{Target: srv.URL}, Users: []int{2}, Runs: 2,
			Closed: plan.Closed{Loops: 3, Ramp: time.Millisecond}, Warmup: 50 * time.Millisecond, Options: load.Options{Seed: 2, MaxLate: time.Minute, Protocol: protocol},
		}.Run(t.Context())
		fatal.If(t, err)
		var counted int64
		for _, run := range r.Levels[0].Runs {
			counted += run.Requests
		}
		if counted == 0 || asked.Load() <= counted || otherwise.Load() != 0 {
			t.Errorf("%s: %d requests, of which %d are counted and %d over the other protocol", protocol, asked.Load(), counted, otherwise.Load())
		}
	}
}

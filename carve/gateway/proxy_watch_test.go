package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/internal/fatal"
)

var proxyNets = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/16")}

// placeAt places a request that was read.
func placeAt(reader *inbound.Reader, s *split, r *http.Request) (position, bool) {
	q := reader.Read(r)
	return s.placeOf(&q)
}

// TestUnnamedProxyIsLogged holds that an operator learns once of each proxy that is not
// trusted, with what mends it, and of none where there is none.
func TestUnnamedProxyIsLogged(t *testing.T) {
	origin := serving(t, http.NotFoundHandler())
	byAddress, byUser := whittle.Sticky{By: "address"}, whittle.Sticky{By: "header", Name: "X-User"}
	for name, c := range map[string]struct {
		sticky whittle.Sticky
		peers  []string // of requests in turn; # is a request's number
		header http.Header
		want   int
	}{
		"a proxy":                      {byAddress, []string{"172.16.0.1:#"}, http.Header{"X-Forwarded-For": {"198.51.100.#"}}, 1},
		"a proxy among other clients":  {byAddress, []string{"203.0.113.#:1", "172.16.0.1:1", "172.16.0.1:1"}, http.Header{"Forwarded": {"for=198.51.100.#"}}, 1},
		"without the user's header":    {byUser, []string{"172.16.0.1:1"}, http.Header{"X-Forwarded-For": {"198.51.100.#"}}, 1},
		"users known by a header":      {byUser, []string{"172.16.0.1:1"}, http.Header{"X-Forwarded-For": {"198.51.100.#"}, "X-User": {"u"}}, 1},
		"a proxy next to it":           {byUser, []string{"127.0.0.1:1"}, http.Header{"X-Forwarded-Proto": {"https"}}, 1},
		"two proxies of its network":   {byAddress, []string{"[fd12::1]:1", "[fd12::2]:1"}, http.Header{"X-Real-Ip": {"198.51.100.1"}}, 2},
		"a trusted proxy":              {byAddress, []string{"10.0.0.1:1"}, http.Header{"X-Forwarded-For": {"198.51.100.#"}}, 0},
		"clients of their own":         {byAddress, []string{"198.51.100.#:1"}, nil, 0},
		"clients that forge":           {byAddress, []string{"198.51.100.#:1"}, http.Header{"X-Forwarded-For": {"203.0.113.#"}}, 0},
		"one client that names itself": {byAddress, []string{"192.0.2.1:1"}, http.Header{"X-Forwarded-For": {"192.168.0.2"}}, 0},
	} {
		var log bytes.Buffer
		candidate := quick(origin)
		spec := whittle.Route{Name: "/", Match: whittle.Match{Pattern: "/"}, Candidate: &candidate, Rollout: whittle.Rollout{Sticky: c.sticky}}
		g, err := New(Options{
			Monolith: quick(origin), Routes: []whittle.Route{spec}, Trusted: proxyNets,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		fatal.If(t, err)
		for i := range 100 {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = strings.ReplaceAll(c.peers[i%len(c.peers)], "#", strconv.Itoa(i))
			for field, values := range c.header {
				r.Header.Set(field, strings.ReplaceAll(values[0], "#", strconv.Itoa(i%50)))
			}
			g.ServeHTTP(httptest.NewRecorder(), r)
		}
		remarks := g.Remarks()
		fatal.If(t, g.Close(t.Context()))
		if n := strings.Count(log.String(), "write forwarded: {trust: ["); n != c.want || len(remarks) != c.want {
			t.Errorf("%s: logged %d times, want %d: %s", name, n, c.want, log.String())
		}
	}
}

package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"whittle"
)

var proxyNets = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

// TestClientBehindTrustedProxies holds whose address a request counts as, with
// real proxies' spellings and with what a client may forge.
func TestClientBehindTrustedProxies(t *testing.T) {
	for _, c := range []struct {
		peer      string
		xff       []string
		forwarded []string
		want      string
	}{
		{peer: "192.0.2.1:9", xff: []string{"198.51.100.7"}, want: "192.0.2.1"}, // not trusted: its own
		{peer: "10.0.0.1:9", want: "10.0.0.1"},                                  // trusted, and says nothing
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7"}, want: "198.51.100.7"},
		{peer: "[::ffff:10.0.0.1]:9", xff: []string{"198.51.100.7"}, want: "198.51.100.7"},
		{peer: "[fd00::1]:9", xff: []string{"2001:db8::7"}, want: "[2001:db8::7]"},
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7, 10.2.2.2"}, want: "198.51.100.7"},
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7", "10.2.2.2 ,10.3.3.3"}, want: "198.51.100.7"},
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7:50123"}, want: "198.51.100.7"},               // Azure
		{peer: "10.0.0.1:9", xff: []string{"[2001:db8::7]:443, 10.2.2.2"}, want: "[2001:db8::7]"},     // Azure
		{peer: "10.0.0.1:9", xff: []string{"203.0.113.9, 198.51.100.7"}, want: "198.51.100.7"},        // the left one is forged
		{peer: "10.0.0.1:9", xff: []string{"10.9.9.9, 198.51.100.7, 10.2.2.2"}, want: "198.51.100.7"}, // likewise
		{peer: "10.0.0.1:9", xff: []string{`", 198.51.100.7, 10.2.2.2`}, want: "198.51.100.7"},        // likewise
		{peer: "10.0.0.1:9", xff: []string{"unknown, 10.2.2.2"}, want: "10.2.2.2"},                    // the nearest that is known
		{peer: "10.0.0.1:9", xff: []string{"not an address"}, want: "10.0.0.1"},                       //
		{peer: "10.0.0.1:9", xff: []string{""}, want: "10.0.0.1"},                                     //
		{peer: "10.0.0.1:9", xff: []string{"10.4.4.4, 10.2.2.2"}, want: "10.4.4.4"},                   // a client inside
		{peer: "10.0.0.1:9", forwarded: []string{"for=198.51.100.7"}, want: "198.51.100.7"},           //
		{peer: "10.0.0.1:9", forwarded: []string{`For="[2001:db8::7]:4711";proto=https`}, want: "[2001:db8::7]"},
		{peer: "10.0.0.1:9", forwarded: []string{`for=198.51.100.7;host="a,for=6.6.6.6;x=\"y", for=10.2.2.2`}, want: "198.51.100.7"},
		{peer: "10.0.0.1:9", forwarded: []string{`for="203.0.113.9`, "proto=http; for=198.51.100.7"}, want: "198.51.100.7"},
		{peer: "10.0.0.1:9", forwarded: []string{"for=_hidden, for=10.2.2.2"}, want: "10.2.2.2"},
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7"}, forwarded: []string{"for=6.6.6.6"}, want: "198.51.100.7"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.peer
		r.Header = http.Header{"X-Forwarded-For": c.xff, "Forwarded": c.forwarded}
		for name, values := range r.Header {
			if values == nil {
				delete(r.Header, name)
			}
		}
		if got := clientOf(r, proxyNets); got != c.want {
			t.Errorf("%s, %q, %q: %s, want %s", c.peer, c.xff, c.forwarded, got, c.want)
		}
		if got := clientOf(r, nil); got != addressOf(r) {
			t.Errorf("%s is believed although nobody is: %s", c.peer, got)
		}
	}
}

// TestAddressesBehindAProxyAreUsers holds that a trusted proxy's users are split
// as if they came directly, and that an untrusted one's are one user.
func TestAddressesBehindAProxyAreUsers(t *testing.T) {
	direct := newSplit("GET /a", whittle.Sticky{By: "address"})
	for _, by := range []whittle.Sticky{{By: "address"}, {By: "header", Name: "X-User"}} {
		s := newSplit("GET /a", by)
		s.trusted = proxyNets
		inside, outside := map[position]bool{}, map[position]bool{}
		for u := range 200 {
			user := fmt.Sprintf("198.51.100.%d", u)
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("X-Forwarded-For", user)
			r.RemoteAddr = "10.0.0.1:1"
			p, _ := s.placeOf(r)
			inside[p] = true
			r.RemoteAddr = "192.0.2.1:1"
			q, _ := s.placeOf(r)
			outside[q] = true
			r.RemoteAddr = user + ":1"
			if same, _ := direct.placeOf(r); same != p {
				t.Fatalf("by %s: %s has another place through the proxy than directly", by.By, user)
			}
		}
		if len(inside) != 200 || len(outside) != 1 {
			t.Errorf("by %s: %d places through a trusted proxy, want 200; %d through another, want 1", by.By, len(inside), len(outside))
		}
	}
}

// TestUnnamedProxyIsTold holds that an operator learns once of a proxy which
// makes one user of all, and of no proxy where there is none.
func TestUnnamedProxyIsTold(t *testing.T) {
	origin := httptest.NewServer(http.NotFoundHandler())
	defer origin.Close()
	for name, c := range map[string]struct {
		sticky  whittle.Sticky
		request func(i int, r *http.Request)
		want    int
	}{
		"a proxy": {whittle.Sticky{By: "address"}, func(i int, r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("192.0.2.1:%d", i)
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i%50))
		}, 1},
		"a proxy among other clients": {whittle.Sticky{By: "address"}, func(i int, r *http.Request) {
			r.RemoteAddr = "192.0.2.1:1"
			if i%3 == 0 {
				r.RemoteAddr = fmt.Sprintf("203.0.113.%d:1", i%200)
			}
			r.Header.Set("Forwarded", fmt.Sprintf("for=198.51.100.%d", i%50))
		}, 1},
		"without the user's header": {whittle.Sticky{By: "header", Name: "X-User"}, func(i int, r *http.Request) {
			r.RemoteAddr = "192.0.2.1:1"
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i%50))
		}, 1},
		"users known by a header": {whittle.Sticky{By: "header", Name: "X-User"}, func(i int, r *http.Request) {
			r.RemoteAddr = "192.0.2.1:1"
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i%50))
			r.Header.Set("X-User", "u")
		}, 0},
		"a trusted proxy": {whittle.Sticky{By: "address"}, func(i int, r *http.Request) {
			r.RemoteAddr = "10.0.0.1:1"
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i%50))
		}, 0},
		"clients of their own": {whittle.Sticky{By: "address"}, func(i int, r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i%50)
		}, 0},
		"clients that forge": {whittle.Sticky{By: "address"}, func(i int, r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i%50)
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i%200))
		}, 0},
		"one client that names itself": {whittle.Sticky{By: "address"}, func(_ int, r *http.Request) {
			r.RemoteAddr = "192.0.2.1:1"
			r.Header.Set("X-Forwarded-For", "192.168.0.2")
		}, 0},
	} {
		var log bytes.Buffer
		candidate := quick(origin.URL)
		spec := whittle.Route{Name: "/", Match: whittle.Match{Pattern: "/"}, Candidate: &candidate, Rollout: whittle.Rollout{Sticky: c.sticky}}
		g, err := New(Options{
			Monolith: quick(origin.URL), Routes: []whittle.Route{spec}, Trusted: proxyNets,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 * manyForwarded {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			c.request(i, r)
			g.ServeHTTP(httptest.NewRecorder(), r)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "name it under forwarded.trust"); n != c.want {
			t.Errorf("%s: told %d times, want %d: %s", name, n, c.want, log.String())
		}
	}
}

// FuzzClientOf holds that no header of a trusted proxy makes a client out of
// what stands to the left of an address that is not trusted.
func FuzzClientOf(f *testing.F) {
	for _, s := range []string{"", "1.1.1.1", `"`, `for="`, `\"`, `, "a, b", `, ";for=", strings.Repeat(`\`, 9) + `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, forged string) {
		for name, value := range map[string]string{"X-Forwarded-For": forged + ",198.51.100.7, 10.2.2.2", "Forwarded": forged + ",for=198.51.100.7;host=h, for=10.2.2.2"} {
			r := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{name: {value}}}
			if got := clientOf(r, proxyNets); got != "198.51.100.7" {
				t.Errorf("%s: %q counts as %s", name, value, got)
			}
		}
	})
}

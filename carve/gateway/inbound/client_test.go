package inbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/carve/gateway/listener"
	"whittle/internal/fatal"
)

var proxyNets = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

// clientOf reads a request by a reader that believes these proxies.
func clientOf(r *http.Request, trusted []netip.Prefix) string {
	q := (&Reader{Trusted: trusted}).Read(r)
	return q.Client()
}

// TestClientBehindTrustedProxies holds whose address a request counts as, with
// real proxies' spellings and with what a client may forge.
func TestClientBehindTrustedProxies(t *testing.T) {
	for _, c := range []struct {
		peer      string
		xff       []string
		forwarded []string
		real      []string
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
		{peer: "10.0.0.1:9", forwarded: []string{`for="198.51.100.7:_x"`}, want: "198.51.100.7"},
		{peer: "10.0.0.1:9", forwarded: []string{`for="[2001:db8::7]:_port"`}, want: "[2001:db8::7]"},
		{peer: "10.0.0.1:9", forwarded: []string{`for="[2001:db8::7]x"`}, want: "10.0.0.1"},
		{peer: "10.0.0.1:9", xff: []string{"fe80::7%eth0"}, want: "[fe80::7]"},
		{peer: "[fe80::1%eth0]:9", want: "[fe80::1]"},
		{peer: "10.0.0.1:9", real: []string{"198.51.100.7"}, want: "198.51.100.7"},
		{peer: "192.0.2.1:9", real: []string{"198.51.100.7"}, want: "192.0.2.1"},
		{peer: "10.0.0.1:9", xff: []string{"198.51.100.7"}, real: []string{"6.6.6.6"}, want: "198.51.100.7"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.peer
		r.Header = http.Header{"X-Forwarded-For": c.xff, "Forwarded": c.forwarded, "X-Real-Ip": c.real}
		fatal.Same(t, clientOf(r, proxyNets), c.want, "%s, %q, %q", c.peer, c.xff, c.forwarded)
		fatal.Same(t, clientOf(r, nil), listener.PeerOf(r.RemoteAddr), "%s is believed although nobody is", c.peer)
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
			fatal.Same(t, clientOf(r, proxyNets), "198.51.100.7", "%s: %q counts as", name, value)
		}
	})
}

func TestForwardedElement(t *testing.T) {
	reader := &Reader{Trusted: proxyNets}
	for _, tc := range []struct{ peer, host, earlier, forwarded, chain string }{
		{"1.2.3.4:55", "h", "", "for=1.2.3.4;host=h;proto=http", "1.2.3.4"},
		{"1.2.3.4:55", "", "", "for=1.2.3.4;proto=http", "1.2.3.4"},
		{"1.2.3.4:55", "h:80", "9.9.9.9", `for=1.2.3.4;host="h:80";proto=http`, "1.2.3.4"},
		{"10.1.1.1:55", "h", "9.9.9.9", "for=1, for=10.1.1.1;host=h;proto=http", "9.9.9.9, 10.1.1.1"},
		{"[::ffff:10.1.1.1]:55", "h", "9.9.9.9", `for=1, for="[::ffff:10.1.1.1]";host=h;proto=http`, "9.9.9.9, ::ffff:10.1.1.1"},
		{"[fd00::1]:55", "[::1]:80", "9.9.9.9", `for=1, for="[fd00::1]";host="[::1]:80";proto=http`, "9.9.9.9, fd00::1"},
		{"[2001:db8::1]:55", "h", "9.9.9.9", `for="[2001:db8::1]";host=h;proto=http`, "2001:db8::1"},
		{"[fe80::1%eth0]:55", "h", "", `for="[fe80::1]";host=h;proto=http`, "fe80::1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr, r.Host = tc.peer, tc.host
		if tc.earlier != "" {
			r.Header["X-Forwarded-For"] = []string{tc.earlier}
			r.Header["Forwarded"] = []string{"for=1"}
		}
		q := reader.Read(r)
		h := q.Outbound()
		if h.Get("Forwarded") != tc.forwarded || h.Get("X-Forwarded-For") != tc.chain || len(h["Forwarded"]) != 1 {
			t.Errorf("%s: %q %q", tc.peer, h["Forwarded"], h["X-Forwarded-For"])
		}
	}
}

// TestATrustedProxyIsContinuedInItsOwnWay: a proxy that says https by X-Forwarded-Proto is
// not contradicted by a Forwarded that knows of http alone, and the other way round.
func TestATrustedProxyIsContinuedInItsOwnWay(t *testing.T) {
	for _, tc := range []struct{ came, want http.Header }{
		{http.Header{}, http.Header{"Forwarded": {"for=10.1.1.1;host=h;proto=http"}, "X-Forwarded-For": {"10.1.1.1"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Proto": {"http"}}},
		{
			http.Header{"X-Forwarded-For": {"9.9.9.9"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Port": {"443"}},
			http.Header{"X-Forwarded-For": {"9.9.9.9, 10.1.1.1"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Port": {"443"}},
		},
		{
			http.Header{"X-Forwarded-Proto": {"https"}},
			http.Header{"X-Forwarded-For": {"10.1.1.1"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Proto": {"https"}},
		},
		{
			http.Header{"Forwarded": {"for=9.9.9.9;proto=https"}, "X-Real-Ip": {"9.9.9.9"}},
			http.Header{"Forwarded": {"for=9.9.9.9;proto=https, for=10.1.1.1;host=h;proto=http"}, "X-Real-Ip": {"9.9.9.9"}},
		},
		{
			http.Header{"X-Real-Ip": {"9.9.9.9"}},
			http.Header{"X-Real-Ip": {"9.9.9.9"}, "X-Forwarded-For": {"9.9.9.9, 10.1.1.1"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Proto": {"http"}},
		},
		{
			http.Header{"Forwarded": {"for=9.9.9.9"}, "X-Forwarded-Host": {"shop"}},
			http.Header{"Forwarded": {"for=9.9.9.9, for=10.1.1.1;host=h;proto=http"}, "X-Forwarded-For": {"10.1.1.1"}, "X-Forwarded-Host": {"shop"}, "X-Forwarded-Proto": {"http"}},
		},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr, r.Host, r.Header = "10.1.1.1:55", "h", tc.came
		q := (&Reader{Trusted: proxyNets}).Read(r)
		if got := http.Header(q.Outbound()); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%v: %v, want %v", tc.came, got, tc.want)
		}
	}
}

// TestNoClaimPassesByAnUnderscore: many servers read an underscore as a dash, so
// what a client claims by it is dropped unless the operator wants it.
func TestNoClaimPassesByAnUnderscore(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["X_forwarded_for"] = []string{"6.6.6.6"}
		r.Header["X_dry_run"] = []string{"yes"}
		r.Header["X-Plain"] = []string{"a_b"}
		q := (&Reader{KeepUnderscores: keep}).Read(r)
		h := q.Outbound()
		if (h["X_forwarded_for"] != nil) != keep || (h["X_dry_run"] != nil) != keep || h.Get("X-Plain") != "a_b" {
			t.Errorf("keep %v: %v", keep, h)
		}
	}
}

// TestDetachWaitsForWhoeverReads detaches bodies while a connection's goroutine begins to
// read them, as net/http does at the end of an upload whose response came early. The
// reader gets the body's first bytes or is refused; the race detector sees who is waited
// for.
func TestDetachWaitsForWhoeverReads(t *testing.T) {
	for range 2000 {
		q := Request{Request: httptest.NewRequest("POST", "/", strings.NewReader("body"))}
		b := NewBody(httptest.NewRecorder(), &q, -1, time.Minute, nil)
		k := b.Keep(1 << 10)
		done := make(chan error)
		go func() {
			var p [4]byte
			n, err := k.ReadFrom(0, p[:], nil)
			if n == 4 && string(p[:]) == "body" || errors.Is(err, errDetached) {
				err = nil
			}
			done <- err
		}()
		b.Detach()
		fatal.If(t, <-done)
		if n, err := k.ReadFrom(4, make([]byte, 4), nil); n != 0 || err == nil {
			t.Fatalf("read %d bytes of a detached body, %v", n, err)
		}
	}
}

// TestPolls: what clients send for a connection made of polls, as their libraries write
// it, and what only looks like it.
func TestPolls(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"/socket.io/?EIO=4&transport=polling&t=OqYx1":                   true, // the handshake
		"/socket.io/?EIO=4&transport=polling&t=OqYx2&sid=Zc1x":          true,
		"/engine.io/?EIO=3&transport=polling&j=0&b64=1":                 true,
		"/chat/?transport=polling&EIO=4":                                true,
		"/socket.io/?EIO=4&transport=websocket":                         false, // an upgrade, or refused
		"/report?transport=polling":                                     false,
		"/report?EIO=4":                                                 false,
		"/sockjs/482/3jx1k0ve/xhr":                                      true,
		"/sockjs/482/3jx1k0ve/xhr_streaming":                            true,
		"/sockjs/000/abc/jsonp?c=_jp.a":                                 true,
		"/a/b/sockjs/482/3jx1k0ve/eventsource":                          true,
		"/sockjs/info?t=1":                                              false,
		"/orders/482/lines/xhr2":                                        false,
		"/orders/48/lines/xhr":                                          false,
		"/xhr":                                                          false,
		"/signalr/poll?transport=longPolling&connectionToken=x":         true,
		"/signalr/connect?transport=serverSentEvents&connectionToken=x": true,
		"/signalr/start?transport=webSockets":                           false,
		"/socket/longpoll?vsn=2.0.0&token=x":                            true,
		"/_blazor?id=abc":                                               true,
		"/_blazor/negotiate":                                            true,
		"/chat?X-Atmosphere-Transport=long-polling":                     true,
		"/":                       false,
		"":                        false,
		"/items?page=2&sort=name": false,
	} {
		fatal.Same(t, polls(target), want, "%s", target)
	}
}

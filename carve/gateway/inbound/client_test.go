package inbound

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
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
		for name, values := range r.Header {
			if values == nil {
				delete(r.Header, name)
			}
		}
		if got := clientOf(r, proxyNets); got != c.want {
			t.Errorf("%s, %q, %q: %s, want %s", c.peer, c.xff, c.forwarded, got, c.want)
		}
		if got := clientOf(r, nil); got != peerOf(r) {
			t.Errorf("%s is believed although nobody is: %s", c.peer, got)
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

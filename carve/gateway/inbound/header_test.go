package inbound

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

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

package config

import (
	"net/netip"
	"strings"
	"testing"

	"whittle"
)

// TestIsServer holds which URLs are seen to lead to an address, on a machine of
// two addresses and the name "gate".
func TestIsServer(t *testing.T) {
	of := func() machine {
		return machine{name: "Gate", addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}}
	}
	for _, c := range []struct {
		listen, url string
		want        bool
	}{
		{":8080", "http://127.0.0.1:8080", true},
		{":8080", "http://127.0.0.2:8080", true},
		{":8080", "http://[::1]:8080/base", true},
		{":8080", "http://localhost:8080", true},
		{":8080", "http://LocalHost.:8080", true},
		{":8080", "http://app.localhost:8080", true},
		{":8080", "h2c://0.0.0.0:8080", true},
		{":8080", "http://[::]:8080", true},
		{":8080", "http://192.0.2.7:8080", true},
		{":8080", "http://[2001:db8::7]:8080", true},
		{":8080", "http://[::ffff:192.0.2.7]:8080", true},
		{":8080", "http://gate:8080", true},
		{"0.0.0.0:8080", "http://[::1]:8080", true},
		{"[::]:8080", "http://127.0.0.1:8080", true},
		{":80", "http://127.0.0.1", true},
		{":80", "h2c://127.0.0.1", true},
		{":443", "https://127.0.0.1", true},
		{"127.0.0.1:8080", "http://localhost:8080", true},
		{"unix:/run/w.sock", "unix:///run/w.sock", true},
		{"unix:/run/w.sock", "unix:///run//./w.sock", true},
		{"unix:/run/w.sock", "unix:///run/app.sock", false},
		{":8080", "unix:///run/w.sock", false},
		{"unix:/run/w.sock", "http://127.0.0.1:8080", false},
		{"localhost:8080", "http://127.0.0.1:8080", true},
		{"[::1]:8080", "http://localhost:8080", true},
		{"127.0.0.1:8080", "http://0.0.0.0:8080", true},
		{"192.0.2.7:8080", "http://192.0.2.7:8080", true},
		{"app.example:8080", "http://APP.example:8080", true},

		{":8080", "http://127.0.0.1:3000", false},
		{":8080", "http://127.0.0.1", false},
		{":8080", "http://192.0.2.8:8080", false},
		{":8080", "http://monolith:8080", false},
		{":8080", "http://host.docker.internal:8080", false},
		{":0", "http://127.0.0.1:8080", false},
		{":443", "http://127.0.0.1", false},
		{"127.0.0.1:8080", "http://127.0.0.2:8080", false},
		{"127.0.0.1:8080", "http://[::1]:8080", false},
		{"127.0.0.1:8080", "http://192.0.2.7:8080", false},
		{"192.0.2.7:8080", "http://127.0.0.1:8080", false},
		{"192.0.2.7:8080", "http://0.0.0.0:8080", false},
		{"192.0.2.7:8080", "http://gate:8080", false},
	} {
		if got := isServer(c.listen, c.url, of); got != c.want {
			t.Errorf("listen %s, upstream %s: %v, want %v", c.listen, c.url, got, c.want)
		}
	}
}

// TestUpstreamThatLeadsBack holds that a config which would send every request
// back to the gateway is refused, at its place, and one that merely shares a
// host is not.
func TestUpstreamThatLeadsBack(t *testing.T) {
	for src, want := range map[string]string{
		"monolith: http://127.0.0.1:8080\n":                                                        `w.yaml:1:11: monolith: "http://127.0.0.1:8080" leads back to whittle itself, which listens on :8080`,
		"listen: 127.0.0.1:9\nmonolith: {url: http://localhost:9, timeout: 1s}\n":                  `w.yaml:2:11: monolith: "http://localhost:9" leads back`,
		"monolith: http://h\nroutes: [{match: /a, candidate: http://localhost:8080}]\n":            `w.yaml:2:33: routes[0].candidate: "http://localhost:8080" leads back`,
		"monolith: http://h\nroutes: [{match: /a, candidate: {url: http://localhost:8080}}]\n":     `w.yaml:2:33: routes[0].candidate: "http://localhost:8080" leads back`,
		"monolith: http://127.0.0.1:8081\n":                                                        `"http://127.0.0.1:8081" is whittle's own admin API`,
		"admin: off\nmonolith: http://127.0.0.1:8081\n":                                            "",
		"monolith: http://127.0.0.1:3000\nroutes: [{match: /a, candidate: http://127.0.0.1:6666}]": "",
	} {
		_, err := Parse("w.yaml", []byte(src), nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", src, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	f := mustParse(t, "listen: 127.0.0.1:0\nmonolith: http://127.0.0.1:3000\n")
	if err := f.LeadsBack("127.0.0.1:4000"); err != nil {
		t.Error(err)
	}
	err := f.Locate(f.LeadsBack("127.0.0.1:3000"))
	if err == nil || whittle.CodeOf(err) != whittle.Invalid || !strings.HasPrefix(err.Error(), "whittle.yaml:2:11: monolith: ") {
		t.Errorf("as bound: %v", err)
	}
}

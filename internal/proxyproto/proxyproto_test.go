package proxyproto

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

const rest = "GET / HTTP/1.1\r\n"

func at(s string) netip.AddrPort {
	if s == "" {
		return netip.AddrPort{}
	}
	return netip.MustParseAddrPort(s)
}

// sent are headers as they were sent by HAProxy 2.6 (send-proxy, send-proxy-v2,
// send-proxy-v2-ssl, and that with every proxy-v2-options), curl 7.88, and those which
// the specification has as examples.
var sent = []struct {
	by, header string
	version    int
	from, to   string
	tls        bool
}{
	{by: "haproxy v1", header: "PROXY TCP4 127.0.0.1 127.0.0.1 54280 17101\r\n", version: 1, from: "127.0.0.1:54280", to: "127.0.0.1:17101"},
	{by: "haproxy v1, IPv6", header: "PROXY TCP6 ::1 ::1 40938 17101\r\n", version: 1, from: "[::1]:40938", to: "[::1]:17101"},
	{by: "haproxy v1, Unix socket", header: "PROXY UNKNOWN\r\n", version: 1},
	{by: "curl", header: "PROXY TCP4 127.0.0.1 127.0.0.1 59246 17100\r\n", version: 1, from: "127.0.0.1:59246", to: "127.0.0.1:17100"},
	{by: "haproxy v2", header: "\r\n\r\n\x00\r\nQUIT\n!\x11\x00\x0c\x7f\x00\x00\x01\x7f\x00\x00\x01\x8d\xf4B\xce", version: 2, from: "127.0.0.1:36340", to: "127.0.0.1:17102"},
	{by: "haproxy v2, IPv6", header: "\r\n\r\n\x00\r\nQUIT\n!!\x00$\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x87\xdcB\xce", version: 2, from: "[::1]:34780", to: "[::1]:17102"},
	{by: "haproxy v2, TLS", header: "\r\n\r\n\x00\r\nQUIT\n!\x11\x00\x1e\x7f\x00\x00\x01\x7f\x00\x00\x01\xaaVB\xcf" +
		" \x00\x0f\x01\x00\x00\x00\x00!\x00\x07TLSv1.3", version: 2, from: "127.0.0.1:43606", to: "127.0.0.1:17103", tls: true},
	{by: "haproxy v2, all options", header: "\r\n\r\n\x00\r\nQUIT\n!\x11\x00Z\x7f\x00\x00\x01\x7f\x00\x00\x01\x9bDB\xd0" +
		"\x03\x00\x04\\o\x02\xb7\x02\x00\tlocalhost\x05\x00\x00 \x005\x01\x00\x00\x00\x00!\x00\x07TLSv1.3" +
		"$\x00\nRSA-SHA256#\x00\x16TLS_AES_256_GCM_SHA384", version: 2, from: "127.0.0.1:39748", to: "127.0.0.1:17104", tls: true},
	{by: "haproxy v2, Unix socket", header: "\r\n\r\n\x00\r\nQUIT\n \x00\x00\x00", version: 2},
	{by: "specification, longest of IPv4", header: "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", version: 1, from: "255.255.255.255:65535", to: "255.255.255.255:65535"},
	{
		by: "specification, longest of IPv6", header: "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		version: 1, from: "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", to: "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
	},
	{by: "specification, longest of all", header: "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n", version: 1},
	{by: "QUIC ended by a proxy: UDP", header: "\r\n\r\n\x00\r\nQUIT\n!\x12\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x00\x50\x01\xbb", version: 2, from: "192.0.2.1:80", to: "198.51.100.2:443"},
	{by: "a Unix socket with its names", header: "\r\n\r\n\x00\r\nQUIT\n!\x31\x00\xd8" + strings.Repeat("a", 216), version: 2},
	{by: "no family, with bytes", header: "\r\n\r\n\x00\r\nQUIT\n!\x00\x00\x03\x04\x00\x09", version: 2},
	{by: "AWS: an endpoint's id", header: "\r\n\r\n\x00\r\nQUIT\n!\x11\x00\x15\xc0\x00\x02\x01\xc6\x33\x64\x02\x00\x50\x01\xbb" +
		"\xea\x00\x06\x01vpce-", version: 2, from: "192.0.2.1:80", to: "198.51.100.2:443"},
	{by: "a health check with extensions", header: "\r\n\r\n\x00\r\nQUIT\n\x20\x11\x00\x04\x00\x00\x00\x00", version: 2},
	{by: "mapped IPv4", header: "PROXY TCP6 ::ffff:192.0.2.1 ::1 0 1\r\n", version: 1, from: "[::ffff:192.0.2.1]:0", to: "[::1]:1"},
}

// TestParse reads each header in pieces of every length: a part of one is never an
// error, and never the whole.
func TestParse(t *testing.T) {
	for _, c := range sent {
		for i := range c.header {
			if _, n, err := Parse([]byte(c.header[:i])); n != 0 || err != nil {
				t.Errorf("%s: %d bytes: %d, %v", c.by, i, n, err)
			}
		}
		part := []byte(c.header[:0])
		for n := 0; n == 0; n, _, _ = parsed(part) {
			part = []byte((c.header + rest)[:len(part)+Wants(part)])
		}
		fatal.Same(t, string(part), c.header, "%s", c.by)
		h, n, err := Parse([]byte(c.header + rest))
		want := Header{Version: c.version, Source: at(c.from), Destination: at(c.to), TLS: c.tls}
		if err != nil || n != len(c.header) || h != want {
			t.Errorf("%s: %+v, %d of %d, %v; want %+v", c.by, h, n, len(c.header), err, want)
		}
	}
}

func parsed(b []byte) (int, Header, error) {
	h, n, err := Parse(b)
	return n, h, err
}

// TestRefused holds what is no header, or one that two readers could read differently.
func TestRefused(t *testing.T) {
	binary := "\r\n\r\n\x00\r\nQUIT\n"
	for _, c := range []string{
		"GET / HTTP/1.1\r\n", "\x16\x03\x01\x02\x00", "PRI * HTTP/2.0\r\n", "PROXYTCP4", "proxy TCP4 ", "\r\n\r\n\x00\r\nQUIX",
		"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 \r\n",
		"PROXY  TCP4 1.2.3.4 1.2.3.4 1 1\r\n", "PROXY TCP4  1.2.3.4 1.2.3.4 1 1\r\n", "PROXY TCP4 1.2.3.4\t1.2.3.4 1 1\r\n",
		"PROXY TCP4 01.2.3.4 1.2.3.4 1 1\r\n", "PROXY TCP4 1.2.3 1.2.3.4 1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.256 1 1\r\n",
		"PROXY TCP4 ::1 ::1 1 1\r\n", "PROXY TCP6 1.2.3.4 1.2.3.4 1 1\r\n", "PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n",
		"PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 +1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n",
		"PROXY TCP4 1.2.3.4 1.2.3.4 -1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 x\r\n", "PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n",
		"PROXY UNKNOWNX\r\n", "PROXY \r\n", "PROXY \n", "PROXY UNKNOWN " + strings.Repeat("x", 92) + "\r\n", "PROXY " + strings.Repeat("x", 101),
		binary + "\x11\x11\x00\x0c" + strings.Repeat("x", 12),                                   // version 1 in binary
		binary + "\x22\x11\x00\x0c" + strings.Repeat("x", 12),                                   // no command
		binary + "\x31\x11\x00\x0c" + strings.Repeat("x", 12),                                   // version 3
		binary + "\x21\x41\x00\x0c" + strings.Repeat("x", 12),                                   // no family
		binary + "\x21\x13\x00\x0c" + strings.Repeat("x", 12),                                   // no transport
		binary + "\x21\x11\x00\x0b" + strings.Repeat("x", 11),                                   // too short for IPv4
		binary + "\x21\x21\x00\x23" + strings.Repeat("x", 35),                                   // too short for IPv6
		binary + "\x21\x31\x00\xd7" + strings.Repeat("x", 215),                                  // too short for names
		binary + "\x21\x11\xff\xff",                                                             // too long
		binary + "\x21\x11\x00\x0e" + strings.Repeat("x", 12) + "\x04\x00",                      // a cut extension
		binary + "\x21\x11\x00\x0f" + strings.Repeat("x", 12) + "\x04\x00\x01",                  // one that ends later
		binary + "\x21\x11\x00\x13" + strings.Repeat("x", 12) + "\x03\x00\x04\x00\x00\x00\x00",  // a wrong sum
		binary + "\x21\x11\x00\x10" + strings.Repeat("x", 12) + "\x03\x00\x01\x00",              // no sum
		binary + "\x21\x11\x00\x12" + strings.Repeat("x", 12) + "\x20\x00\x03\x01\x00\x00" + "", // TLS cut off
	} {
		if h, n, err := Parse([]byte(c)); err == nil || n != 0 || h != (Header{}) {
			t.Errorf("%q: %+v, %d, %v", c, h, n, err)
		}
	}
	if _, _, err := Parse([]byte(rest)); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// FuzzParse holds that what is read is bounded, and depends neither on what follows nor on
// the pieces in which it comes.
func FuzzParse(f *testing.F) {
	for _, c := range sent {
		f.Add([]byte(c.header + rest))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := Parse(b)
		if n < 0 || n > len(b) || n > MaxHeader || err != nil && n != 0 {
			t.Fatalf("%d of %d, %v", n, len(b), err)
		}
		if n == 0 {
			if err == nil && len(b) >= MaxHeader {
				t.Fatalf("%d bytes, and more are wanted", len(b))
			}
			return
		}
		if again, m, err := Parse(b[:n]); again != h || m != n || err != nil {
			t.Fatalf("without what follows: %+v, %d, %v; want %+v, %d", again, m, err, h, n)
		}
		if _, m, err := Parse(b[:n-1]); m != 0 || err != nil {
			t.Fatalf("a part: %d, %v", m, err)
		}
	})
}

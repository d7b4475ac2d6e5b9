package listener

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// repeated is a connection on which the same bytes come again and again.
type repeated struct {
	net.Conn
	bytes []byte
}

func (r *repeated) Read(p []byte) (int, error) { return copy(p, r.bytes), nil }

// BenchmarkStrict checks a request with its body, as it comes in one packet.
func BenchmarkStrict(b *testing.B) {
	const head = "POST /v1/track HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: analytics\r\nAccept: */*\r\n" +
		"Content-Type: application/json\r\nAuthorization: Basic a2V5Og==\r\n"
	for name, rest := range map[string]string{
		"none":     "\r\n",
		"length":   "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000),
		"chunks":   "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("40\r\n"+strings.Repeat("x", 64)+"\r\n", 16) + "0\r\n\r\n",
		"50fields": strings.Repeat("X-Some-Header: a value of usual length, 40 bytes or so\r\n", 45) + "\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(head + rest)
			var malformed atomic.Int64
			g := newStrictConn(&repeated{bytes: in}, 64<<10, &malformed, nil)
			p := make([]byte, len(in))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := g.Read(p); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

package http1

import (
	"bytes"
	"strings"
	"testing"
)

const (
	benchRequest = "POST /v1/track HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: analytics\r\nAccept: */*\r\n" +
		"Content-Type: application/json\r\nAuthorization: Basic a2V5Og==\r\nContent-Length: 1000\r\n\r\n"
	benchResponse = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n" +
		"Cache-Control: no-store\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\nContent-Length: 27\r\n\r\n"
)

// With50Fields is what a browser behind several proxies sends.
func with50Fields() string {
	return strings.TrimSuffix(benchRequest, "\r\n") + strings.Repeat("X-Some-Header: a value of usual length, 40 bytes or so\r\n", 44) + "\r\n"
}

func BenchmarkRequestHead(b *testing.B) {
	for name, text := range map[string]string{"6fields": benchRequest, "50fields": with50Fields()} {
		b.Run(name, func(b *testing.B) {
			in := []byte(text)
			var h RequestHead
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if n, err := h.Parse(in); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkResponseHead(b *testing.B) {
	in := []byte(benchResponse)
	var h ResponseHead
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if n, err := h.Parse(in); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkChunks(b *testing.B) {
	for name, size := range map[string]int{"16": 16, "4096": 4096} {
		b.Run(name, func(b *testing.B) {
			in := bytes.Repeat(AppendChunk(nil, make([]byte, size)), 16)
			in = EndHead(AppendLastChunk(in))
			var body Body
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				body.Begin(Framing{Kind: Chunked})
				for rest := in; !body.Done(); {
					_, n, err := body.Next(rest)
					if err != nil {
						b.Fatal(err)
					}
					rest = rest[n:]
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = AppendRequestLine(out[:0], "POST", "/v1/track")
		out, _ = AppendField(out, "Host", "localhost:8080")
		out, _ = AppendField(out, "User-Agent", "analytics")
		out, _ = AppendField(out, "Accept", "*/*")
		out, _ = AppendField(out, "Content-Type", "application/json")
		out, _ = AppendField(out, "Authorization", "Basic a2V5Og==")
		out = EndHead(AppendContentLength(out, 1000))
	}
}

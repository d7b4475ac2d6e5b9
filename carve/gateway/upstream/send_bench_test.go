package upstream

import (
	"bytes"
	"context"
	"testing"

	"whittle"
	"whittle/internal/http1"
)

// BenchmarkSendRaw sends a request in bytes over a kept connection and takes its
// response, without the system's part.
func BenchmarkSendRaw(b *testing.B) {
	u, err := New(whittle.Upstream{URL: "http://127.0.0.1:1"}, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	p := u.group.Load().all[0].pool
	p.running.Add(1)
	p.put(newConn(p, &repeated{response: []byte("HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")}, ""), true)
	request := []byte("GET /a HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n")
	var head http1.RequestHead
	if _, err := head.Parse(request); err != nil {
		b.Fatal(err)
	}
	q := Raw{Head: &head, Fields: []byte("Accept: */*\r\n")}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		a, err := u.SendRaw(ctx, &q)
		if err != nil {
			b.Fatal(err)
		}
		if body, ok := a.Whole(); !ok || !bytes.Equal(body, []byte("{}")) {
			b.Fatal(body)
		}
		a.Close()
	}
}

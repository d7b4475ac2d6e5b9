package load

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"

	"whittle/load/plan"
)

// BenchmarkTemplatedRequest is one request of a templated plan over a
// kept-alive connection, the server's few bytes of work included.
func BenchmarkTemplatedRequest(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if bytes.HasSuffix(buf[:n], []byte("}")) {
				if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\nDate: Sat, 21 Nov 2026 05:00:00 GMT\r\n\r\nok"); err != nil {
					return
				}
			}
		}
	}()
	p, err := Parse("p.yml", fmt.Appendf(nil, `
config: {variables: {who: ann}, phases: [{duration: 0.001, arrivalCount: 1}]}
scenarios: [{flow: [{loop: [{post: {url: "/users/{{ who }}?n={{ $randomNumber(1, 9) }}", json: {name: "{{ who }}", text: "for {{ who }}"}}}], count: %d}]}]`, b.N), plan.Source{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	r, err := Run(b.Context(), p, Options{Target: "http://" + l.Addr().String()})
	b.StopTimer()
	if err != nil || r.Completed != int64(b.N) {
		b.Errorf("%d of %d completed, %v, %v", r.Completed, b.N, r.Errors, err)
	}
	b.ReportMetric(float64(r.Generator.CPU)*1e3/float64(b.N), "cpu-µs/op")
	l.Close()
	<-done
}

package front

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

// instant is a stream that keeps nothing and says that it did.
type instant struct {
	double
	positions []stream.Result
}

func (s *instant) Append(_ context.Context, records []stream.Record) []stream.Result {
	return s.positions[:len(records)]
}
func (s *instant) Capacity() stream.Capacity { return stream.Capacity{Free: 1 << 40} }

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(code int) {
	if code != 200 {
		panic(fmt.Sprint("acknowledged ", code))
	}
}

// BenchmarkFront is the handler alone, without net/http's server and without a
// disk: 1 KB events, one a request and fifty.
func BenchmarkFront(b *testing.B) {
	filler := strings.Repeat("x", 880)
	one := func(n int) string {
		return fmt.Sprintf(`{"type":"track","event":"Bought","userId":"user-%d","messageId":"message-%012d","properties":{"filler":"%s"}}`, n%1000, n, filler)
	}
	for _, c := range []struct {
		name, path string
		events     int
	}{{"import", "/import", 0}, {"track", "/v1/track", 1}, {"batch of 50", "/v1/batch", 50}} {
		b.Run(c.name, func(b *testing.B) {
			s := &instant{double: double{limit: 1 << 20}, positions: make([]stream.Result, 64)}
			for i := range s.positions {
				s.positions[i].Position = stream.Position{Partition: "0", Offset: fmt.Sprint(1000 + i)}
			}
			f, err := New(Options{Stream: s, Seen: dedup.New(dedup.Options{Entries: 10_000})})
			if err != nil {
				b.Fatal(err)
			}
			w := &discard{header: http.Header{}}
			u, _ := url.Parse(c.path)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				var body string
				switch c.events {
				case 0, 1:
					body = one(n)
					n++
				default:
					events := make([]string, c.events)
					for i := range events {
						events[i] = one(n)
						n++
					}
					body = batchOf(events...)
				}
				clear(w.header)
				r := &http.Request{
					Method: http.MethodPost, URL: u, RemoteAddr: "127.0.0.1:1234", ContentLength: int64(len(body)),
					Header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"bench"}, "Accept": {"*/*"}},
					Body:   io.NopCloser(bytes.NewReader([]byte(body))),
				}
				f.ServeHTTP(w, r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}

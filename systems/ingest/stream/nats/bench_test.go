package nats

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"whittle/systems/ingest/stream"
)

// BenchmarkAppend appends 1 KB records to an embedded server from 256
// goroutines. Each record costs an fsync of its own.
func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.Context(), Options{Embedded: &Embedded{Dir: b.TempDir()}, Stream: "events"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close(b.Context())
	var user atomic.Int64
	value := strings.Repeat("v", 1024)
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := l.Append(b.Context(), []stream.Record{sealed("id", fmt.Sprint("user-", user.Add(1)%10_000), value)})
			if r[0].Err != nil {
				b.Error(r[0].Err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

package kinesis

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// BenchmarkAppend appends single events of 300 bytes from 256 goroutines to the
// API on loopback, which does not throttle.
func BenchmarkAppend(b *testing.B) {
	api := needAPI(b)
	for _, aggregate := range []int{0, 50 << 10} {
		b.Run(fmt.Sprint("aggregate=", aggregate), func(b *testing.B) {
			name := fmt.Sprintf("bench%d", streams.Add(1))
			if err := api.CreateStream(b.Context(), name, 4); err != nil {
				b.Fatal(err)
			}
			s, err := Open(b.Context(), Options{
				Stream: name, Region: kinesistest.Region, Endpoint: api.URL,
				AccessKeyID: "local", SecretAccessKey: "local", Aggregate: aggregate,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close(context.Background())
			var n atomic.Int64
			value := string(make([]byte, 300))
			b.SetParallelism(128)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					r := record("user"+strconv.FormatInt(i%5000, 10), strconv.FormatInt(i, 10), value)
					if res := s.Append(b.Context(), []stream.Record{r}); res[0].Err != nil {
						b.Error(res[0].Err)
						return
					}
				}
			})
			b.StopTimer()
			c := s.Counts()
			b.ReportMetric(float64(c.Kept)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(c.Kept)/float64(c.Calls), "records/call")
		})
	}
}

package kafka

import (
	"fmt"
	"sync/atomic"
	"testing"

	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka/kafkatest"
)

// BenchmarkAppend appends 1 KB records to a real broker on this machine, from 256
// goroutines: one record a call, and fifty.
func BenchmarkAppend(b *testing.B) {
	if kafkatest.Missing() != nil {
		needs.Missing(b, "a real Apache Kafka", kafkatest.Install)
	}
	broker, err := kafkatest.Start(b.Context(), kafkatest.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	for _, size := range []int{1, 50} {
		b.Run(fmt.Sprint(size, " a call"), func(b *testing.B) {
			l, err := Open(b.Context(), Options{Brokers: []string{broker.Address()}, Topic: fmt.Sprintf("b%d-%d", size, b.N), Create: &Create{Partitions: 12}})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close(b.Context())
			var user atomic.Int64
			value := random(1024)
			b.SetBytes(int64(size * len(value)))
			b.SetParallelism(128)
			b.RunParallel(func(pb *testing.PB) {
				records := make([]stream.Record, size)
				for pb.Next() {
					for i := range records {
						records[i] = sealed("id", fmt.Sprint("user-", user.Add(1)%10_000), value)
					}
					for _, r := range l.Append(b.Context(), records) {
						if r.Err != nil {
							b.Error(r.Err)
						}
					}
				}
			})
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

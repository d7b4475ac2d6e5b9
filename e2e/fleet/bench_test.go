package fleet

import (
	"fmt"
	"testing"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle/bench/cputime"
)

// BenchmarkServers is what a report of a gateway costs the three NATS servers that keep
// it, in CPU time of their processes: 3 KB, written one after the other, each on three
// disks.
func BenchmarkServers(b *testing.B) {
	c := startCluster(b, 3)
	conn, err := client.Connect("nats://" + c.clients[0])
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	var kv jetstream.KeyValue
	until(b, "a bucket", func() bool {
		kv, err = js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: "bench", Replicas: 3})
		return err == nil
	})
	spent := func() (ms float64) {
		for _, s := range c.servers {
			d, err := cputime.Of(s.Pid())
			if err != nil {
				b.Fatal(err)
			}
			ms += d.Seconds() * 1000
		}
		return ms
	}
	before, value, n := spent(), make([]byte, 3055), 0
	for b.Loop() {
		if _, err := kv.Put(b.Context(), fmt.Sprint("member.", n%100), value); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric((spent()-before)*1000/float64(n), "server-µs/report")
}

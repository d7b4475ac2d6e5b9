package fleet

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle/e2e/process"
	"whittle/internal/cputime"
	"whittle/internal/fatal"
)

// BenchmarkServers is what a report of a gateway costs the three NATS servers that keep
// it, in CPU time of their processes: 3 KB, written one after the other, each on three
// disks.
func BenchmarkServers(b *testing.B) {
	c := startCluster(b, 3)
	conn, err := client.Connect("nats://" + c.clients[0])
	fatal.If(b, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	fatal.If(b, err)
	var kv jetstream.KeyValue
	process.Until(b, "a bucket", func() bool {
		kv, err = js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: "bench", Replicas: 3})
		return err == nil
	})
	all := func() (ms float64) {
		for _, s := range c.servers {
			d, err := cputime.Of(s.Pid())
			fatal.If(b, err)
			ms += d.Seconds() * 1000
		}
		return ms
	}
	before, value, n := all(), make([]byte, 3055), 0
	for b.Loop() {
		if _, err := kv.Put(b.Context(), fmt.Sprint("member.", n%100), value); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric((all()-before)*1000/float64(n), "server-µs/report")
}

// spent is what a gateway's process has used.
func spent(b *testing.B, of *whole) time.Duration {
	d, err := cputime.Of(of.p.Pid())
	fatal.If(b, err)
	return d
}

// BenchmarkFleet is what the gateway that leads and the others spend in fleets of several
// sizes on the same evidence: 100 exchanges a second, which come to gateways that do not
// lead where there are such. What users' requests cost is in it where they come.
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{1, 3, 10, 30} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			servers := startCluster(b, 1)
			w := &walk{t: b, nats: []string{"nats://" + servers.clients[0]}, lease: 5 * time.Second}
			w.start(n)
			lead := w.leader()
			var others []*whole
			for _, g := range w.all {
				process.Until(b, "it is connected", func() bool { return g.fleet().Connected })
				if g != lead {
					others = append(others, g)
				}
			}
			if n == 1 {
				others = w.all
			}
			ask := func(d time.Duration) {
				pace := time.NewTicker(10 * time.Millisecond)
				defer pace.Stop()
				client := &http.Client{Transport: &http.Transport{}}
				defer client.CloseIdleConnections()
				all := w.all
				w.all = others
				for i, end := 0, time.Now().Add(d); time.Now().Before(end); i++ {
					w.ask(b.Context(), client, i)
					<-pace.C
				}
				w.all = all
			}
			ask(5 * time.Second)
			for b.Loop() {
				const span = 20 * time.Second
				before, compared := []time.Duration{}, lead.route().Ledger.Compared
				for _, one := range w.all {
					before = append(before, spent(b, one))
				}
				ask(span)
				leading, rest := 0.0, 0.0
				for i, one := range w.all {
					used := (spent(b, one) - before[i]).Seconds() * 1000 / span.Seconds()
					if one == lead {
						leading = used
					} else {
						rest += used / float64(len(w.all)-1)
					}
				}
				b.ReportMetric(leading, "ms/s-leader")
				b.ReportMetric(rest, "ms/s-other")
				b.ReportMetric(float64(lead.route().Ledger.Compared-compared)/span.Seconds(), "compared/s")
			}
			if lead != w.leader() {
				b.Error("another leads now: what was measured is no leader's")
			}
		})
	}
}

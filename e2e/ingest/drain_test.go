package ingest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kafka"
	"whittle/systems/ingest/stream/kinesis"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
	"whittle/systems/ingest/stream/relay"
)

// gate is a sink that can be switched off.
type gate struct {
	stream.Stream
	down atomic.Bool
}

func (g *gate) Append(ctx context.Context, records []stream.Record) []stream.Result {
	if !g.down.Load() {
		return g.Stream.Append(ctx, records)
	}
	results := make([]stream.Result, len(records))
	for i := range results {
		results[i].Err = whittle.Errorf(whittle.Unavailable, "the sink is away")
	}
	return results
}

// kilobyte makes events of 1 KB by the users of one client of several.
func kilobyte(client, from, n int) []stream.Record {
	records := make([]stream.Record, n)
	for i := range records {
		user := client*1000 + (from+i)%1000
		records[i] = stream.Record{
			ID: fmt.Sprint(client, ".", from+i), Key: fmt.Sprint("user-", user), Time: time.Now(),
			Value: []byte(strings.Repeat("an event of a kilobyte ", 44)),
		}
		records[i].Seal()
	}
	return records
}

const (
	// drainCalls and drainBatch are how a relay calls its sink.
	drainCalls = 8
	drainBatch = 2000
	// drainClients append, each so many at once.
	drainClients = 64
	drainAppend  = 10
)

// BenchmarkCatchUp is how fast a drain works off what an outage left in a real
// sink, while 1 KB events go on arriving, each acknowledged after an fsync. What the
// sink takes of the same events without a log in front, called as a drain calls
// it, is measured before: no drain can be faster.
//
// live/s is what was appended meanwhile, drained/s what reached the sink;
// drained/live is what has to be 3. own/s is the sink without a log. Offered are
// 20,000 events a second, or a fifth of what the sink takes where that is less.
func BenchmarkCatchUp(b *testing.B) {
	b.Run("kafka", func(b *testing.B) {
		at := broker(b).Address()
		sink, err := kafka.Open(b.Context(), kafka.Options{Brokers: []string{at}, Topic: "drained", Create: &kafka.Create{Partitions: 12}})
		if err != nil {
			b.Fatal(err)
		}
		catchUp(b, sink, 100_000)
	})
	for _, aggregate := range []int{0, 50 << 10} {
		b.Run(fmt.Sprint("kinesis aggregate=", aggregate), func(b *testing.B) {
			api := startKinesis(b, "drained", 12)
			b.Logf("the Kinesis API is %s", api.Program)
			sink, err := kinesis.Open(b.Context(), kinesis.Options{
				Stream: "drained", Region: kinesistest.Region, Endpoint: api.URL,
				AccessKeyID: "local", SecretAccessKey: "local", Aggregate: aggregate,
				// kinesis-local takes ten milliseconds a record, and then some.
				CallTimeout: time.Minute, Budget: 5 * time.Minute,
			})
			if err != nil {
				b.Fatal(err)
			}
			events := 60_000
			if api.Program == kinesistest.KinesisLocal {
				events = 1500 + aggregate/10
			}
			catchUp(b, sink, events)
		})
	}
}

// catchUp measures a sink by itself with so many events, and then a drain to it
// from the moment that it is back until what was in the log then is drained.
func catchUp(b *testing.B, sink stream.Stream, events int) {
	own := max(ownRate(b, sink, events), ownRate(b, sink, events)) // the first one warms it up
	live := min(20_000, own/5)
	dir := b.TempDir()
	open := func(name string) *embedded.Log {
		l, err := embedded.Open(filepath.Join(dir, name), embedded.Options{ScrubRate: -1, Held: name == "log"})
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	g := &gate{Stream: sink}
	r, err := relay.Open(open("log"), g, relay.Options{
		Dir: filepath.Join(dir, "position"), Dead: open("dead"), Keep: -1,
		Limits: relay.Limits{Batch: drainBatch, Inflight: drainCalls, BackoffMax: 100 * time.Millisecond, Timeout: 6 * time.Minute},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
		defer cancel()
		if err := r.Close(closing); err != nil {
			b.Error(err)
		}
	}()
	send := func(client, from int) {
		for _, res := range r.Append(b.Context(), kilobyte(client, from, drainAppend)) {
			if res.Err != nil {
				b.Error(res.Err)
			}
		}
	}
	for b.Loop() {
		g.down.Store(true)
		each(drainClients, func(client int) {
			for n := range events / drainClients / drainAppend {
				send(client, n*drainAppend)
			}
		})
		liveCtx, stop := context.WithCancel(b.Context())
		var clients sync.WaitGroup
		clients.Go(func() { arrive(liveCtx, live, send) })
		before, began := r.Status(), time.Now()
		g.down.Store(false)
		err := r.Trim(b.Context(), stream.Position{Partition: "0", Offset: fmt.Sprint(before.Next)}) // waits for the drain
		took, after := time.Since(began).Seconds(), r.Status()
		stop()
		clients.Wait()
		if err != nil {
			b.Fatal(err)
		}
		appended, drained := float64(after.Next-before.Next)/took, float64(after.Drained-before.Drained)/took
		b.ReportMetric(own, "own/s")
		b.ReportMetric(appended, "live/s")
		b.ReportMetric(drained, "drained/s")
		b.ReportMetric(drained/appended, "drained/live")
		b.ReportMetric(drained/own, "drained/own")
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}

// arrive has events arrive at a rate a second until ctx ends. Where the log
// falls behind, they wait, and come when there is a client free for them.
func arrive(ctx context.Context, rate float64, send func(client, from int)) {
	due := make(chan int)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer close(due)
	for client := range drainClients {
		clients.Go(func() {
			for n := range due {
				send(client, n*drainAppend)
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for n := 0; ; {
		for ; float64((n+1)*drainAppend) <= time.Since(began).Seconds()*rate; n++ {
			select {
			case due <- n:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ownRate is how many events a second the sink takes when it is called as a
// drain calls it, and nothing else goes on.
func ownRate(b *testing.B, sink stream.Stream, events int) float64 {
	b.Helper()
	began := time.Now()
	each(drainCalls, func(caller int) {
		batch := min(drainBatch, events/drainCalls)
		for from := 0; from < events/drainCalls; from += batch {
			for _, res := range sink.Append(b.Context(), kilobyte(100+caller, from, batch)) {
				if res.Err != nil {
					b.Error(res.Err)
				}
			}
		}
	})
	return float64(events) / time.Since(began).Seconds()
}

// each runs n at once, and waits for them.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

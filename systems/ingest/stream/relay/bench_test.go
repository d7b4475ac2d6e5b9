package relay_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/relay"
)

// slowSink responds to each call after a time, however many records it has, and
// keeps nothing.
type slowSink struct {
	stream.Stream
	latency time.Duration

	mu   sync.Mutex // guards the following
	down bool
	next int
}

func (s *slowSink) Limit() int                  { return 1 << 20 }
func (s *slowSink) Close(context.Context) error { return nil }

func (s *slowSink) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *slowSink) Partitions(context.Context) ([]stream.Partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := stream.Position{Partition: "0", Offset: fmt.Sprint(s.next)}
	return []stream.Partition{{Name: "0", First: end, Next: end}}, nil
}

func (s *slowSink) Append(ctx context.Context, records []stream.Record) []stream.Result {
	wait := time.NewTimer(s.latency)
	defer wait.Stop()
	<-wait.C
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]stream.Result, len(records))
	for i := range results {
		if s.down {
			results[i].Err = whittle.Errorf(whittle.Unavailable, "the sink is down")
			continue
		}
		results[i].Position = stream.Position{Partition: "0", Offset: fmt.Sprint(s.next)}
		s.next++
	}
	return results
}

// BenchmarkCatchUp is how fast a drain works off what an outage left, while
// events of 1 KB go on arriving, for some latencies of the sink's calls (of at
// most 2,000 records, eight at once). 16 clients append batches of ten at up to
// 20,000 events a second meanwhile, each after an fsync.
func BenchmarkCatchUp(b *testing.B) {
	for _, latency := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		b.Run(latency.String(), func(b *testing.B) { catchUp(b, latency) })
	}
}

// catchUp has the sink be down until there is a backlog, and measures until
// that is gone.
func catchUp(b *testing.B, latency time.Duration) {
	dir := b.TempDir()
	sink := &slowSink{latency: latency, down: true}
	r, err := relay.Open(log(b, dir, "log"), sink, relay.Options{
		Dir: filepath.Join(dir, "position"), Dead: log(b, dir, "dead"), Keep: -1,
		Limits: relay.Limits{BackoffMax: 200 * time.Millisecond},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close(context.Background())
	batch := func(client, n int) []stream.Record {
		records := make([]stream.Record, 10)
		for i := range records {
			key := fmt.Sprintf("user-%d", (client*31+n*10+i)%5000)
			records[i] = stream.Record{ID: fmt.Sprint(client, ".", n, ".", i), Key: key, Time: time.Now(), Value: make([]byte, 1000)}
			records[i].Seal()
		}
		return records
	}
	for b.Loop() {
		sink.set(true)
		const backlog = 100_000
		var filling sync.WaitGroup
		for c := range 16 {
			filling.Go(func() {
				for n := range backlog / 16 / 10 {
					r.Append(b.Context(), batch(c, n))
				}
			})
		}
		filling.Wait()
		live, stop := context.WithCancel(b.Context())
		before, began := r.Status(), time.Now()
		sink.set(false)
		var clients sync.WaitGroup
		for c := range 16 {
			clients.Go(func() { appendAt(live, r, c, batch, 20_000/16) })
		}
		_ = r.Trim(b.Context(), stream.Position{Partition: "0", Offset: fmt.Sprint(before.Next)}) // waits for the drain
		took := time.Since(began).Seconds()
		after := r.Status()
		stop()
		clients.Wait()
		appended, drained := float64(after.Next-before.Next)/took, float64(after.Drained-before.Drained)/took
		b.ReportMetric(appended, "appended/s")
		b.ReportMetric(drained, "drained/s")
		b.ReportMetric(drained/appended, "drained/appended")
	}
}

// appendAt appends batches of ten at a rate of records a second.
func appendAt(ctx context.Context, s stream.Stream, client int, batch func(client, n int) []stream.Record, rate int) {
	tick := time.NewTicker(time.Second * 10 / time.Duration(rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			s.Append(ctx, batch(client, n))
		case <-ctx.Done():
			return
		}
	}
}

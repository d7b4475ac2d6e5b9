package kinesis

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
	"whittle/internal/needs"
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

// BenchmarkThrottledShard appends all that one shard takes to an API that enforces
// the limits (ferrokinesis), next to others that offer records as well. An
// iteration is a second: -benchtime 10x.
func BenchmarkThrottledShard(b *testing.B) {
	api, err := kinesistest.Start(b.Context(), kinesistest.Options{Program: kinesistest.Ferrokinesis, EnforceLimits: true})
	if whittle.CodeOf(err) == whittle.Unsupported {
		needs.Missing(b, "a Kinesis API that throttles", kinesistest.InstallFerrokinesis)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer api.Close()
	for _, offered := range []int{0, 500, 800} {
		b.Run(fmt.Sprint("others=", offered), func(b *testing.B) { benchThrottled(b, api, offered) })
	}
}

func benchThrottled(b *testing.B, api *kinesistest.API, offered int) {
	name := fmt.Sprintf("bench%d", streams.Add(1))
	if err := api.CreateStream(b.Context(), name, 1); err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), Options{Stream: name, Region: kinesistest.Region, Endpoint: api.URL, AccessKeyID: "local", SecretAccessKey: "local"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer func() {
		stop()
		all.Wait()
		_ = s.Close(b.Context())
	}()
	for range 30 {
		all.Go(func() {
			batch := make([]stream.Record, 100)
			for i := range batch {
				batch[i] = record("", "", "a small event")
			}
			for ctx.Err() == nil {
				s.Append(ctx, batch)
			}
		})
	}
	var others atomic.Int64
	if offered > 0 {
		all.Go(func() { offer(ctx, api, name, offered/10, &others) })
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for range 4 { // until the pace is found
		<-second.C
	}
	before, theirs := s.Counts(), others.Load()
	b.ResetTimer()
	for range b.N {
		<-second.C
	}
	after := s.Counts()
	seconds := b.Elapsed().Seconds()
	kept, refused := float64(after.Kept-before.Kept), float64(after.Refused-before.Refused)
	b.ReportMetric(kept/seconds, "kept/s")
	b.ReportMetric(float64(others.Load()-theirs)/seconds, "others/s")
	b.ReportMetric(100*kept/(shardRecords*seconds-float64(others.Load()-theirs)), "%used")
	b.ReportMetric(refused/kept, "refused/kept")
}

// offer puts n records ten times a second until ctx ends, and counts those that
// were kept.
func offer(ctx context.Context, api *kinesistest.API, name string, n int, kept *atomic.Int64) {
	client, end := api.Client()
	defer end()
	in := &kinesis.PutRecordsInput{StreamName: &name}
	for range n {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: aws.String("k"), Data: []byte("x")})
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if out, err := client.PutRecords(ctx, in); err == nil {
			kept.Add(int64(n - int(*out.FailedRecordCount)))
		}
	}
}

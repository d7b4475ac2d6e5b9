// Package kinesis is a durable stream on an Amazon Kinesis data stream. Records go
// together in calls of PutRecords and are kept in order by key, whatever fails.
//
// A record may be on the stream twice: after a call without a response nobody
// knows whether it took effect, and the record is sent again. Its ID lets a
// reader drop the second copy. A success always means that the record is
// stored.
package kinesis

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go/logging"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// Stream is a Kinesis data stream.
type Stream struct {
	o         Options
	api       *kinesis.Client
	transport *http.Transport
	sink      *inflight.Sink
	queues    []*putQueue // each has one call in flight at a time
	seed      maphash.Seed
	turn      atomic.Uint32 // the queue of the next record without a key
	counts    struct{ calls, kept, refused, unknown atomic.Int64 }

	mu     sync.Mutex // guards the following
	outage outage
}

// Open makes a Stream of a data stream that exists already. Its errors have
// the codes Invalid (the options), NotFound, Unauthenticated, PermissionDenied
// or Unavailable.
func Open(ctx context.Context, o Options) (*Stream, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s := &Stream{o: o, sink: inflight.NewSink("Kinesis", queueBytes), seed: maphash.MakeSeed()}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	in := &kinesis.ListShardsInput{MaxResults: aws.Int32(1)}
	in.StreamName, in.StreamARN = o.name()
	if _, err := s.api.ListShards(ctx, in); err != nil {
		s.transport.CloseIdleConnections()
		return nil, ofRequest("open kinesis stream "+o.Stream, err)
	}
	var senders []func(context.Context)
	for range calls {
		q := &putQueue{Queue: inflight.NewQueue[*job](o.Budget + o.CallTimeout), s: s}
		s.queues = append(s.queues, q)
		senders = append(senders, func(ctx context.Context) {
			q.Run(ctx, func(waiting []*job) (round, rest []*job) { return q.take(ctx, waiting) }, q.round)
		})
	}
	// Whether Kinesis responds is seen by the calls: to ask it costs of the account's rate.
	s.sink.Run(func(context.Context) error { return nil }, senders...)
	return s, nil
}

func (s *Stream) connect(ctx context.Context) error {
	var load []func(*config.LoadOptions) error
	if s.o.Region != "" {
		load = append(load, config.WithRegion(s.o.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "open kinesis stream: read the AWS settings: %w", err)
	}
	if cfg.Region == "" {
		return whittle.Errorf(whittle.Invalid, "open kinesis stream: no AWS region").
			WithField("region").WithHint("set AWS_REGION")
	}
	s.transport = newTransport(cfg)
	cfg.HTTPClient = &http.Client{Transport: s.transport}
	s.api = kinesis.NewFromConfig(cfg, func(k *kinesis.Options) {
		k.Logger = logging.Nop{} // what fails is in the results
		if s.o.Endpoint != "" {
			k.BaseEndpoint = aws.String(s.o.Endpoint)
		}
	})
	return nil
}

// newTransport is the SDK's own, which knows AWS_CA_BUNDLE, with a connection
// for each call; and one that Close can empty.
func newTransport(cfg aws.Config) *http.Transport {
	sdk, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		sdk = awshttp.NewBuildableClient()
	}
	t := sdk.GetTransport()
	t.DialContext = (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 2 * calls
	t.MaxIdleConns = t.MaxIdleConnsPerHost
	t.IdleConnTimeout = 50 * time.Second
	return t
}

// Durability is Kinesis'.
func (s *Stream) Durability() stream.Durability { return stream.Kinesis }

// Limit is the record size less the longest partition key and, in an envelope, what that and
// Base64 take.
func (s *Stream) Limit() int {
	if s.o.Raw {
		return maxRecordBytes - stream.MaxKey
	}
	return (maxRecordBytes - stream.MaxKey - envelopeCost) / 4 * 3
}

// Capacity is what the buffer can accept, and whether Kinesis takes calls.
func (s *Stream) Capacity() stream.Capacity {
	c := s.sink.Buffer.Capacity(len(s.queues))
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Failing = s.outage.cause
	if err := s.outage.err(time.Now()); err != nil && c.Err == nil {
		c.Err = err
	}
	return c
}

// Counts adds up what Kinesis did since Open.
type Counts struct {
	Calls int64 // of PutRecords
	Kept  int64 // records
	// Refused are attempts that surely had no effect, Unknown those without a response: each
	// may have left a double.
	Refused, Unknown int64
}

// Counts returns the sums so far.
func (s *Stream) Counts() Counts {
	return Counts{Calls: s.counts.calls.Load(), Kept: s.counts.kept.Load(), Refused: s.counts.refused.Load(), Unknown: s.counts.unknown.Load()}
}

// Close refuses new appends and waits for those under way until ctx ends.
func (s *Stream) Close(ctx context.Context) error {
	return inflight.Close(ctx, s.sink, s.transport.CloseIdleConnections, s.queues)
}

// Append implements stream.Stream. When the buffer is full, the call is refused
// (ResourceExhausted).
func (s *Stream) Append(ctx context.Context, records []stream.Record) []stream.Result {
	due := time.Now().Add(s.o.Budget)
	return inflight.Append(ctx, s.sink, s.queues, records, s.o.Budget+s.o.CallTimeout, func(r *stream.Record) (*job, int, error) {
		data, err := s.encode(r)
		if err != nil {
			return nil, 0, err
		}
		j := &job{key: r.Key, due: due, entry: types.PutRecordsRequestEntry{Data: data, PartitionKey: aws.String(partitionKey(r.Key))}}
		queue := int(s.turn.Add(1)) % len(s.queues)
		if r.Key == "" {
			j.entry.PartitionKey = aws.String(strconv.FormatUint(rand.Uint64(), 36))
		} else {
			queue = int(maphash.String(s.seed, r.Key) % uint64(len(s.queues)))
		}
		j.Size = len(*j.entry.PartitionKey) + len(data)
		return j, queue, nil
	})
}

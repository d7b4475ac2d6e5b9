// Package kinesis is a durable stream on an Amazon Kinesis data stream. It
// packs records up to the limits of PutRecords and keeps them in order by key,
// whatever fails. A throttled shard delays only its own records.
//
// A record may be on the stream twice: after a call without a response nobody
// knows whether it took effect, and the record is sent again. Its ID lets a
// reader drop the second copy. A success always means that the record is
// stored.
package kinesis

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/time/rate"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Stream is a Kinesis data stream.
type Stream struct {
	o         Options
	api       *kinesis.Client
	transport *http.Transport

	listing sync.Mutex // held while the shards are listed again
	wakeup  notify.Signal
	stop    context.CancelFunc // ends the calls in flight
	done    chan struct{}      // closed when the dispatcher has ended

	mu         sync.Mutex // guards the following
	queue      *queue
	throughput stream.Meter
	outage     outage
	inFlight   int // calls in flight
	closing    bool
	listed     time.Time                // when the shards were listed last
	pollers    map[string]*rate.Limiter // by shard
}

// Open makes a Stream of a data stream that exists already. Its errors have
// the codes Invalid (the options), NotFound, Unauthenticated, PermissionDenied
// or Unavailable.
func Open(ctx context.Context, o Options) (*Stream, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s := &Stream{
		o:       o,
		wakeup:  notify.New(),
		done:    make(chan struct{}),
		pollers: map[string]*rate.Limiter{},
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	shards, err := s.listShards(ctx)
	if err != nil {
		s.transport.CloseIdleConnections()
		return nil, err
	}
	s.queue = newQueue(o.limits(), o.Queue, o.Budget, rand.Float64, shards)
	if len(s.queue.shards.open) == 0 {
		s.transport.CloseIdleConnections()
		return nil, whittle.Errorf(whittle.Unavailable, "open kinesis stream: %s has no open shard", o.Stream)
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.dispatch(run)
	return s, nil
}

func (s *Stream) connect(ctx context.Context) error {
	var load []func(*config.LoadOptions) error
	if s.o.Region != "" {
		load = append(load, config.WithRegion(s.o.Region))
	}
	if s.o.AccessKeyID != "" {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(s.o.AccessKeyID, s.o.SecretAccessKey, "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "open kinesis stream: read the AWS settings: %w", err)
	}
	if cfg.Region == "" {
		return whittle.Errorf(whittle.Invalid, "open kinesis stream: no AWS region").
			WithField("region").WithHint("set AWS_REGION")
	}
	s.transport = newTransport(cfg, s.o.Calls)
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
func newTransport(cfg aws.Config, calls int) *http.Transport {
	sdk, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		sdk = awshttp.NewBuildableClient()
	}
	t := sdk.GetTransport()
	t.DialContext = (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 2*calls + 16
	t.MaxIdleConns = t.MaxIdleConnsPerHost
	t.IdleConnTimeout = 50 * time.Second
	return t
}

// Durability is Kinesis'.
func (s *Stream) Durability() stream.Durability { return stream.Kinesis }

// Limit is the record size less the longest partition key.
func (s *Stream) Limit() int { return s.o.MaxRecord - stream.MaxKey }

// Trim returns Unsupported: a data stream keeps its records for its retention
// period.
func (s *Stream) Trim(context.Context, stream.Position) error {
	return whittle.Errorf(whittle.Unsupported, "trim kinesis stream: it keeps records for its own retention period").
		WithHint("aws kinesis decrease-stream-retention-period")
}

// Capacity is what the queue can accept, and how fast Kinesis empties it.
func (s *Stream) Capacity() stream.Capacity {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	capacity := stream.Capacity{Free: int64(max(s.queue.capacity-s.queue.used, 0)), Err: s.outage.err(now)}
	_, capacity.Rate = s.throughput.Rate(now)
	if s.closing {
		capacity.Err = errClosed
	}
	return capacity
}

// Counts adds up what became of records' attempts since Open.
type Counts struct {
	Calls    int64 // of PutRecords
	Kept     int64 // records
	Refused  int64 // attempts that surely had no effect: throttled, or the API was down
	Unknown  int64 // attempts without a response: each may have left a double
	Rejected int64 // records that Kinesis does not take
	Rerouted int64 // aggregated records sent again after a resharding
}

// Counts returns the sums so far.
func (s *Stream) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.counts
}

// Close refuses new appends and waits for those under way until ctx ends; what
// is left then is Canceled where it may have been kept and Unavailable elsewhere.
func (s *Stream) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	s.wakeup.Notify()
	var err error
	select {
	case <-s.done:
	case <-ctx.Done():
		err = whittle.Errorf(whittle.DeadlineExceeded, "close kinesis stream: records were still under way: %w", ctx.Err())
	}
	s.stop()
	<-s.done
	s.transport.CloseIdleConnections()
	return err
}

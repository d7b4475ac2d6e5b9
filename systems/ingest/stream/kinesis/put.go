package kinesis

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
	"whittle/systems/ingest/stream"
)

// dispatch starts calls as long as there is something to send, until the
// stream is closed and empty, or ctx ends.
func (s *Stream) dispatch(ctx context.Context) {
	defer close(s.done)
	var calls sync.WaitGroup
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		call, wait, end := s.next(time.Now())
		if end {
			break
		}
		if call != nil {
			calls.Go(func() { s.put(ctx, call) })
			continue
		}
		timer.Reset(wait)
		select {
		case <-s.wakeup:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	calls.Wait()
	s.abandon()
}

// next returns the next call to make, or how long there is none.
func (s *Stream) next(now time.Time) (call []*putEntry, wait time.Duration, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	q.expire(now)
	company := q.readyCount >= q.limits.records || now.Sub(q.since) >= s.o.Linger
	switch {
	case s.closing && q.alive == 0 && s.inFlight == 0:
		return nil, 0, true
	case s.inFlight >= s.o.Calls:
		// A call that ends wakes the dispatcher; time only lets records expire.
		return nil, 100 * time.Millisecond, false
	case s.inFlight == 0 || s.closing || company:
		call = q.pack(now)
	}
	if call != nil {
		s.inFlight++
		q.counts.Calls++
	}
	return call, q.nextWake(now, max(s.o.Linger, 0)), false
}

// put makes one call of PutRecords and takes its outcome in.
func (s *Stream) put(ctx context.Context, call []*putEntry) {
	in := &kinesis.PutRecordsInput{Records: make([]types.PutRecordsRequestEntry, len(call))}
	in.StreamName, in.StreamARN = s.o.name()
	for i, p := range call {
		in.Records[i] = p.entry()
	}
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	// The queue tries again itself, only what failed and in order.
	out, err := s.api.PutRecords(limited, in, func(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} })
	cancel()
	outcomes := outcomesOf(call, out, err)
	if err == nil && s.resharded(call, outcomes) {
		s.relist(ctx)
	}

	now := time.Now()
	s.mu.Lock()
	s.queue.settle(call, outcomes, begun, now)
	s.throughput.Add(now, 0, bytesKept(call, outcomes))
	if err == nil {
		s.outage = outage{}
	} else {
		s.outage.add(outcomes[0], now)
	}
	s.inFlight--
	s.mu.Unlock()
	s.wakeup.Notify()
}

// entry is the put entry as Kinesis takes it. The partition key of an aggregated
// one is that of its first record, so that Kinesis puts it where that belongs.
func (p *putEntry) entry() types.PutRecordsRequestEntry {
	first := p.items[0]
	e := types.PutRecordsRequestEntry{PartitionKey: aws.String(first.partitionKey), Data: first.data}
	if p.aggregated() {
		records := make([]userRecord, len(p.items))
		for i, it := range p.items {
			records[i] = userRecord{partitionKey: it.partitionKey, data: it.data}
		}
		e.Data = aggregate(records)
	}
	return e
}

// outcomesOf reads a response: one outcome a put entry, in order.
func outcomesOf(call []*putEntry, out *kinesis.PutRecordsOutput, err error) []outcome {
	outcomes := make([]outcome, len(call))
	if err == nil && len(out.Records) != len(call) {
		err = whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged for %d of %d records", len(out.Records), len(call))
	}
	if err != nil {
		o := ofCall(err)
		o.whole = true
		o.split = o.disposition == rejected && (len(call) > 1 || call[0].aggregated())
		for i := range outcomes {
			outcomes[i] = o
		}
		return outcomes
	}
	for i, r := range out.Records {
		sequence, shard := aws.ToString(r.SequenceNumber), aws.ToString(r.ShardId)
		switch {
		case r.ErrorCode != nil:
			outcomes[i] = outcome{disposition: refused, cause: perRecord(*r.ErrorCode, aws.ToString(r.ErrorMessage))}
		case sequence == "" || shard == "":
			outcomes[i] = outcome{disposition: unknown, cause: whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged without a sequence number")}
		default:
			outcomes[i] = outcome{disposition: kept, shard: shard, sequence: sequence}
		}
	}
	return outcomes
}

func bytesKept(call []*putEntry, outcomes []outcome) int {
	n := 0
	for i, p := range call {
		if outcomes[i].disposition == kept {
			n += p.size
		}
	}
	return n
}

// resharded reports whether a record was put where the map of shards would not
// have had it.
func (s *Stream) resharded(call []*putEntry, outcomes []outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range call {
		if outcomes[i].disposition != kept {
			continue
		}
		for _, it := range p.items {
			if !s.queue.belongs(it, outcomes[i].shard) {
				return true
			}
		}
	}
	return false
}

// relist lists the shards anew, once for all calls that ask at the same time.
func (s *Stream) relist(ctx context.Context) {
	asked := time.Now()
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	fresh := s.listed.After(asked)
	s.mu.Unlock()
	if fresh {
		return
	}
	shards, err := s.listShards(ctx)
	if err != nil {
		return // the next response that surprises asks again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = time.Now()
	s.queue.remap(shards, s.listed)
}

// abandon ends whatever is left when no call will be made any more.
func (s *Stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for _, it := range s.queue.order {
		var err error = errClosed
		if it.unknown {
			err = whittle.Errorf(whittle.Canceled, "put record: the stream was closed before it was known whether it was kept: %w", it.cause)
		}
		s.queue.finish(it, stream.Result{Err: err})
	}
}

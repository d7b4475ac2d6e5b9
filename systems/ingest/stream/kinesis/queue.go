package kinesis

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// job is one record on its way.
type job struct {
	inflight.Item
	key   string
	entry types.PutRecordsRequestEntry
	due   time.Time // from here on it is not sent
}

// putQueue sends the records of some keys, one call of PutRecords after the other. A call
// has at most one record of each key, so that no record overtakes one of its key that is
// refused. What arrives meanwhile goes together in the next call.
//
// Each record is sent once. What is then refused or unknown is for whoever appended it to
// send again: the client, or the drain of a log in front.
type putQueue struct {
	*inflight.Queue[*job]
	s *Stream
}

// take returns the next call's jobs, and what is left, in order. It settles those whose time
// is over.
func (q *putQueue) take(waiting []*job) (round, rest []*job) {
	now := time.Now()
	held := map[string]bool{}
	bytes := 0
	for i, j := range waiting {
		switch {
		case len(round) == maxCallRecords || len(round) > 0 && bytes+j.Size > maxCallBytes:
			return round, append(rest, waiting[i:]...)
		case j.key != "" && held[j.key]:
			rest = append(rest, j)
		case !j.due.After(now):
			q.s.sink.Settle(&j.Item, stream.Result{Err: whittle.Errorf(whittle.ResourceExhausted, "put record: not sent within its time: the stream takes less than comes in")})
		case !j.Call.Start(j.Index):
			q.s.sink.Buffer.Release(j.Size)
		default:
			round = append(round, j)
			bytes += j.Size
			held[j.key] = true
		}
	}
	return round, rest
}

// round makes one call of PutRecords, and settles its jobs.
func (q *putQueue) round(ctx context.Context, jobs []*job) {
	s := q.s
	if ctx.Err() != nil {
		for _, j := range jobs {
			s.sink.Settle(&j.Item, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "put record: the stream is closed")})
		}
		return
	}
	began, bytes, whole := time.Now(), 0, true
	results := s.put(ctx, jobs)
	if len(jobs) > 1 && whittle.CodeOf(results[0].Err) == whittle.Invalid { // one of them is at fault, and nobody says which
		for i := range jobs {
			results[i] = s.put(ctx, jobs[i:i+1])[0]
		}
	}
	for i, j := range jobs {
		s.sink.Settle(&j.Item, results[i])
		bytes += j.Size
		if whole = whole && results[i].Err == nil; results[i].Err == nil {
			s.counts.kept.Add(1)
			s.sink.Buffer.Acknowledged()
		}
	}
	if whole {
		s.sink.Buffer.Measure(bytes, time.Since(began))
	}
}

// put makes one call of PutRecords: one result a record, in order.
func (s *Stream) put(ctx context.Context, jobs []*job) []stream.Result {
	in := &kinesis.PutRecordsInput{Records: make([]types.PutRecordsRequestEntry, len(jobs))}
	in.StreamName, in.StreamARN = s.o.name()
	for i, j := range jobs {
		in.Records[i] = j.entry
	}
	limited, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	defer cancel()
	// The SDK would send all of it again, out of order.
	out, err := s.api.PutRecords(limited, in, func(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} })
	s.counts.calls.Add(1)
	if err == nil && len(out.Records) != len(jobs) {
		err = whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged for %d of %d records", len(out.Records), len(jobs))
	}
	s.note(err)
	if err != nil {
		return slices.Repeat([]stream.Result{{Err: ofCall(err)}}, len(jobs))
	}
	results := make([]stream.Result, len(jobs))
	for i, r := range out.Records {
		sequence, shard := aws.ToString(r.SequenceNumber), aws.ToString(r.ShardId)
		switch {
		case r.ErrorCode != nil:
			results[i].Err = perRecord(*r.ErrorCode, aws.ToString(r.ErrorMessage))
		case sequence == "" || shard == "":
			results[i].Err = whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged without a sequence number")
		default:
			results[i].Position = stream.Position{Partition: shard, Offset: sequence}
		}
	}
	return results
}

// note notes what a call as a whole came to.
func (s *Stream) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.outage = outage{}
	} else {
		s.outage.add(ofCall(err), time.Now())
	}
}

// outage notes calls that failed as a whole, in a row. While it lasts the
// stream says that it takes nothing; every so often it lets some through, so
// that the end of the outage is seen.
type outage struct {
	failures int
	cause    error
	until    time.Time
}

const (
	outageAfter = 3
	outagePause = 2 * time.Second
)

func (o *outage) add(failed error, now time.Time) {
	if code := whittle.CodeOf(failed); code == whittle.Invalid || code == whittle.ResourceExhausted {
		return // throttled or at fault ourselves: the API is up
	}
	o.failures++
	o.cause, o.until = failed, now.Add(outagePause)
}

func (o *outage) err(now time.Time) error {
	if o.failures < outageAfter || now.After(o.until) {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "kinesis takes nothing: %w", o.cause)
}

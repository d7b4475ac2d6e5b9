package kinesis

import (
	"context"
	"math/rand/v2"
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
	due   time.Time // from here on it is not tried again
	// next is when it is tried again, failures how often it was refused or not responded to.
	next     time.Time
	failures int
	alone    bool  // only in a call of its own
	unknown  bool  // a call with it ended without a response
	err      error // of its last failure
}

// putQueue sends the records of some keys, one call of PutRecords after the other. A call
// has at most one record of each key, so that no record overtakes one of its key that is
// refused. What arrives meanwhile goes together in the next call.
type putQueue struct {
	*inflight.Queue[*job]
	s     *Stream
	again []*job // of the last call, to be tried again before those that wait
}

// take returns the next call's jobs, and what is left, in order. It settles those whose time
// is over.
func (q *putQueue) take(ctx context.Context, waiting []*job) (round, rest []*job) {
	waiting, q.again = append(q.again, waiting...), nil
	if ctx.Err() != nil {
		return waiting, nil
	}
	now := time.Now()
	var wake time.Time // the first of those that are held back
	held := map[string]bool{}
	bytes := 0
	for i, j := range waiting {
		switch {
		case len(round) == maxCallRecords || len(round) > 0 && (bytes+j.Size > maxCallBytes || round[0].alone):
			return round, append(rest, waiting[i:]...)
		case j.key != "" && held[j.key], j.alone && len(round) > 0:
			rest = append(rest, j)
		case !j.due.After(now):
			q.s.sink.Settle(&j.Item, stream.Result{Err: j.overdue()})
			continue
		case j.next.After(now):
			rest = append(rest, j)
			if wake.IsZero() || j.next.Before(wake) {
				wake = j.next
			}
		case !j.Call.Start(j.Index):
			q.s.sink.Buffer.Release(j.Size)
			continue
		default:
			round = append(round, j)
			bytes += j.Size
		}
		held[j.key] = true
	}
	if len(round) == 0 && len(rest) > 0 {
		time.AfterFunc(wake.Sub(now), func() { q.Put(nil) }) // which wakes it
	}
	return round, rest
}

// overdue is the error of a job that was tried until its budget was used up.
func (j *job) overdue() error {
	switch {
	case j.err == nil:
		return whittle.Errorf(whittle.ResourceExhausted, "put record: not sent within its time: the stream takes less than comes in")
	case j.unknown:
		return whittle.Errorf(whittle.DeadlineExceeded, "put record: not known whether it was kept: %w", j.err)
	}
	return whittle.Errorf(whittle.CodeOf(j.err), "put record: not kept within its time: %w", j.err)
}

// round makes one call of PutRecords, settles the jobs whose outcome is final, and keeps the
// others to be tried again.
func (q *putQueue) round(ctx context.Context, jobs []*job) {
	s := q.s
	if ctx.Err() != nil {
		for _, j := range jobs {
			var err error = whittle.Errorf(whittle.Unavailable, "put record: the stream is closed")
			if j.unknown {
				err = whittle.Errorf(whittle.Canceled, "put record: the stream was closed before it was known whether it was kept: %w", j.err)
			}
			s.sink.Settle(&j.Item, stream.Result{Err: err})
		}
		return
	}
	in := &kinesis.PutRecordsInput{Records: make([]types.PutRecordsRequestEntry, len(jobs))}
	in.StreamName, in.StreamARN = s.o.name()
	bytes := 0
	for i, j := range jobs {
		in.Records[i] = j.entry
		bytes += j.Size
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	// The queue tries again itself, only what failed and in order.
	out, err := s.api.PutRecords(limited, in, func(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} })
	cancel()
	s.counts.calls.Add(1)
	outcomes := outcomesOf(len(jobs), out, err)
	s.note(err, outcomes[0])
	for i, j := range jobs {
		q.settle(j, outcomes[i], len(jobs) > 1)
	}
	if len(q.again) == 0 {
		s.sink.Buffer.Measure(bytes, time.Since(began))
	}
}

// note notes what a call as a whole came to.
func (s *Stream) note(err error, first outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.outage = outage{}
	} else {
		s.outage.add(first, time.Now())
	}
}

func (q *putQueue) settle(j *job, o outcome, inCompany bool) {
	s := q.s
	switch {
	case o.disposition == kept:
		s.counts.kept.Add(1)
		s.sink.Buffer.Acknowledged()
		s.sink.Settle(&j.Item, stream.Result{Position: stream.Position{Partition: o.shard, Offset: o.sequence}})
		return
	case o.disposition == rejected && !inCompany:
		if j.unknown {
			o.cause = whittle.Errorf(whittle.DeadlineExceeded, "put record: not known whether it was kept: %w", o.cause)
		}
		s.sink.Settle(&j.Item, stream.Result{Err: o.cause})
		return
	case o.disposition == rejected: // one of the call's records, perhaps: they are tried one by one
		j.alone = true
	default:
		j.failures++
		j.next = time.Now().Add(stream.Backoff(j.failures-1, backoffBase, backoffCap, rand.Float64()))
	}
	switch o.disposition {
	case refused:
		s.counts.refused.Add(1)
	case unknown:
		s.counts.unknown.Add(1)
	}
	j.err, j.unknown = o.cause, j.unknown || o.disposition == unknown
	if !j.unknown {
		j.Call.Requeue(j.Index)
	}
	q.again = append(q.again, j)
}

// Waiting after a failure, so that many writers do not come back at the same moment.
const (
	backoffBase = 50 * time.Millisecond
	backoffCap  = 2 * time.Second
)

// disposition is what became of a record in a call.
type disposition int

const (
	kept     disposition = iota
	refused              // surely not kept; it is tried again
	unknown              // no response; it is tried again, and may then be there twice
	rejected             // surely not kept, and it would not be the next time
)

// outcome is a disposition with its cause.
type outcome struct {
	disposition disposition
	shard       string // where it is kept
	sequence    string
	cause       error // classified; not nil unless it is kept
}

// outcomesOf reads a response: one outcome a record, in order.
func outcomesOf(n int, out *kinesis.PutRecordsOutput, err error) []outcome {
	outcomes := make([]outcome, n)
	if err == nil && len(out.Records) != n {
		err = whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged for %d of %d records", len(out.Records), n)
	}
	for i := range outcomes {
		if err != nil {
			outcomes[i] = ofCall(err)
			continue
		}
		r := out.Records[i]
		sequence, shard := aws.ToString(r.SequenceNumber), aws.ToString(r.ShardId)
		switch {
		case r.ErrorCode != nil:
			outcomes[i] = outcome{disposition: refused, cause: perRecord(*r.ErrorCode, aws.ToString(r.ErrorMessage))}
		case sequence == "" || shard == "":
			outcomes[i] = outcome{disposition: unknown, cause: whittle.Errorf(whittle.DeadlineExceeded, "kinesis acknowledged without a sequence number")}
		default:
			outcomes[i] = outcome{shard: shard, sequence: sequence}
		}
	}
	return outcomes
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

func (o *outage) add(failed outcome, now time.Time) {
	if failed.disposition == rejected || whittle.CodeOf(failed.cause) == whittle.ResourceExhausted {
		return // throttled or at fault ourselves: the API is up
	}
	o.failures++
	o.cause, o.until = failed.cause, now.Add(outagePause)
}

func (o *outage) err(now time.Time) error {
	if o.failures < outageAfter || now.After(o.until) {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "kinesis takes nothing: %w", o.cause)
}

package kinesis

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"golang.org/x/time/rate"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// listShards lists all shards, those too that a resharding has closed.
func (s *Stream) listShards(ctx context.Context) ([]shardRange, error) {
	var all []shardRange
	in := &kinesis.ListShardsInput{}
	in.StreamName, in.StreamARN = s.o.name()
	for {
		out, err := s.api.ListShards(ctx, in)
		if err != nil {
			return nil, ofRequest("list shards of "+s.o.Stream, err)
		}
		for _, sh := range out.Shards {
			r, err := readShardRange(sh)
			if err != nil {
				return nil, whittle.Errorf(whittle.Unavailable, "list shards of %s: %w", s.o.Stream, err)
			}
			all = append(all, r)
		}
		if out.NextToken == nil {
			return all, nil
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken}
	}
}

func readShardRange(sh types.Shard) (shardRange, error) {
	r := shardRange{id: aws.ToString(sh.ShardId)}
	if sh.HashKeyRange == nil {
		return r, errors.New("a shard without a range of hash keys")
	}
	var err, err2 error
	r.span.from, err = parseHash(aws.ToString(sh.HashKeyRange.StartingHashKey))
	r.span.to, err2 = parseHash(aws.ToString(sh.HashKeyRange.EndingHashKey))
	r.closed = sh.SequenceNumberRange != nil && sh.SequenceNumberRange.EndingSequenceNumber != nil
	for _, parent := range []*string{sh.ParentShardId, sh.AdjacentParentShardId} {
		if parent != nil {
			r.parents = append(r.parents, *parent)
		}
	}
	return r, errors.Join(err, err2)
}

// Partitions lists the shards, those too that a resharding has closed: their
// records come before those of their children. Kinesis does not say where a
// shard begins and ends at the moment, so both offsets are empty.
func (s *Stream) Partitions(ctx context.Context) ([]stream.Partition, error) {
	shards, err := s.listShards(ctx)
	if err != nil {
		return nil, err
	}
	parts := make([]stream.Partition, len(shards))
	for i, sh := range shards {
		at := stream.Position{Partition: sh.id}
		parts[i] = stream.Partition{Name: sh.id, First: at, Next: at}
	}
	slices.SortFunc(parts, func(a, b stream.Partition) int { return cmp.Compare(a.Name, b.Name) })
	return parts, nil
}

// Read reads a shard. At the end of one that a resharding has closed, Next
// gives an error that wraps stream.ErrEnded and names the shards where it goes on.
func (s *Stream) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	sequence, _, err := splitOffset(from.Offset)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read shard %s: %w", from.Partition, err)
	}
	r := &reader{s: s, shard: from.Partition, from: from.Offset}
	s.mu.Lock()
	if s.pollers[r.shard] == nil {
		s.pollers[r.shard] = rate.NewLimiter(rate.Every(s.o.PollEvery), 1)
	}
	r.limiter = s.pollers[r.shard]
	r.span, r.spanned = s.queue.shards.spans[r.shard]
	s.mu.Unlock()
	if !r.spanned {
		if err := r.findSpan(ctx); err != nil {
			return nil, err
		}
	}
	start := &kinesis.GetShardIteratorInput{ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	if sequence != "" {
		start.ShardIteratorType, start.StartingSequenceNumber = types.ShardIteratorTypeAtSequenceNumber, &sequence
	}
	err = r.seek(ctx, start)
	if sequence != "" && whittle.CodeOf(err) == whittle.Invalid {
		// Gone already: what comes first behind it is found from the beginning.
		err = r.seek(ctx, &kinesis.GetShardIteratorInput{ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// reader reads one shard.
type reader struct {
	s       *Stream
	shard   string
	span    span // of the shard, to know strays in aggregated records
	spanned bool
	limiter *rate.Limiter
	from    string // offsets below it are left out

	iterator  string // of the next call; "" at the end of a closed shard
	last      string // the last sequence number that was fetched
	children  []string
	pending   []fetched
	misses    int // throttled reads in a row
	responses int64
	atTip     bool // as of the last response
}

// fetched is an entry, or why there is none.
type fetched struct {
	entry   stream.Entry
	corrupt *stream.CorruptError
}

func (r *reader) findSpan(ctx context.Context) error {
	shards, err := r.s.listShards(ctx)
	if err != nil {
		return err
	}
	for _, sh := range shards {
		if sh.id == r.shard {
			r.span, r.spanned = sh.span, true
			return nil
		}
	}
	return whittle.Errorf(whittle.NotFound, "read shard %q: %s has none of that name", r.shard, r.s.o.Stream)
}

func (r *reader) seek(ctx context.Context, in *kinesis.GetShardIteratorInput) error {
	in.StreamName, in.StreamARN = r.s.o.name()
	in.ShardId = &r.shard
	limited, cancel := context.WithTimeout(ctx, r.s.o.CallTimeout)
	defer cancel()
	out, err := r.s.api.GetShardIterator(limited, in)
	if err != nil {
		return ofRequest("read shard "+r.shard, err)
	}
	r.iterator = aws.ToString(out.ShardIterator)
	return nil
}

// Next waits for the shard's next records.
func (r *reader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	for len(r.pending) == 0 {
		if r.iterator == "" {
			return 0, r.ended(ctx)
		}
		if err := r.fetch(ctx); err != nil {
			return 0, err
		}
	}
	n := 0
	for n < len(into) && len(r.pending) > 0 {
		f := r.pending[0]
		if f.corrupt != nil && n > 0 {
			break
		}
		r.pending[0], r.pending = fetched{}, r.pending[1:]
		if f.corrupt != nil {
			return 0, f.corrupt
		}
		into[n] = f.entry
		n++
	}
	return n, nil
}

// Tip implements stream.Tip.
func (r *reader) Tip() (responses int64, reached bool) { return r.responses, r.atTip }

// Close releases what was fetched.
func (r *reader) Close() error {
	r.pending, r.iterator = nil, ""
	return nil
}

// ended is the error at the end of a closed shard. It names the children, from
// the listing where the last response did not.
func (r *reader) ended(ctx context.Context) error {
	if len(r.children) == 0 {
		shards, err := r.s.listShards(ctx)
		if err != nil {
			return err
		}
		for _, sh := range shards {
			if slices.Contains(sh.parents, r.shard) {
				r.children = append(r.children, sh.id)
			}
		}
	}
	return whittle.Errorf(whittle.FailedPrecondition, "read shard %s: a resharding closed it, and it goes on in %s: %w",
		r.shard, strings.Join(r.children, " and "), stream.ErrEnded)
}

// fetch makes one read, no sooner than the pace allows.
func (r *reader) fetch(ctx context.Context) error {
	if err := r.wait(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.s.o.CallTimeout)
	defer cancel()
	out, err := r.s.api.GetRecords(limited, &kinesis.GetRecordsInput{ShardIterator: &r.iterator})
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		return r.resume(ctx)
	}
	if _, throttled := errors.AsType[*types.ProvisionedThroughputExceededException](err); throttled {
		r.misses++
		return nil
	}
	if err != nil {
		return ofRequest("read shard "+r.shard, err)
	}
	r.misses = 0
	r.responses++
	r.atTip = len(out.Records) == 0 && aws.ToInt64(out.MillisBehindLatest) == 0
	for _, rec := range out.Records {
		r.take(rec)
		r.last = aws.ToString(rec.SequenceNumber)
	}
	r.iterator = aws.ToString(out.NextShardIterator)
	for _, c := range out.ChildShards {
		r.children = append(r.children, aws.ToString(c.ShardId))
	}
	return nil
}

// wait keeps the pace that the readers of a shard share, and backs off further
// while others use it up.
func (r *reader) wait(ctx context.Context) error {
	turn := r.limiter.Reserve()
	delay := turn.Delay()
	if r.misses > 0 {
		delay += backoff(r.misses, rand.Float64())
	}
	if !notify.Sleep(ctx, delay) {
		turn.Cancel()
		return ofRequest("read shard "+r.shard, ctx.Err())
	}
	return nil
}

// resume gets a new iterator where one has expired.
func (r *reader) resume(ctx context.Context) error {
	in := &kinesis.GetShardIteratorInput{ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	if r.last != "" {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &r.last
	}
	return r.seek(ctx, in)
}

// take adds a Kinesis record to what is pending: one entry, or those of an
// aggregated record that belong to this shard.
func (r *reader) take(rec types.Record) {
	sequence := aws.ToString(rec.SequenceNumber)
	at := aws.ToTime(rec.ApproximateArrivalTimestamp)
	if !isAggregated(rec.Data) {
		r.add(offset(sequence, 0), aws.ToString(rec.PartitionKey), at, rec.Data)
		return
	}
	users, err := deaggregate(rec.Data)
	if err != nil {
		r.corrupt(offset(sequence, 0), err.Error())
		return
	}
	for i, u := range users {
		h := hashOf(u.partitionKey)
		if u.hash != "" {
			if h, err = parseHash(u.hash); err != nil {
				r.corrupt(offset(sequence, i), err.Error())
				continue
			}
		}
		if !r.spanned || r.span.has(h) {
			r.add(offset(sequence, i), u.partitionKey, at, u.data)
		}
	}
}

func (r *reader) add(off, key string, arrived time.Time, body []byte) {
	if below(off, r.from) {
		return
	}
	at := stream.Position{Partition: r.shard, Offset: off}
	if r.s.o.Raw {
		rec := stream.Record{Key: key, Time: arrived, Value: body}
		rec.Seal()
		r.pending = append(r.pending, fetched{entry: stream.Entry{Record: rec, Position: at}})
		return
	}
	rec, err := parseData(body)
	switch {
	case err != nil:
		r.corrupt(off, err.Error())
	case !rec.Intact():
		r.corrupt(off, "its value is not what was sealed")
	default:
		r.pending = append(r.pending, fetched{entry: stream.Entry{Record: rec, Position: at}})
	}
}

func (r *reader) corrupt(off, reason string) {
	if !below(off, r.from) {
		at := stream.Position{Partition: r.shard, Offset: off}
		r.pending = append(r.pending, fetched{corrupt: &stream.CorruptError{Position: at, Reason: reason}})
	}
}

// below compares two offsets as numbers.
func below(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

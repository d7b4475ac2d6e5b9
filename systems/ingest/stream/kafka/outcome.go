package kafka

import (
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
)

const produceKey = 0 // a produce request, in Kafka's protocol

// produceTracker counts the produce requests of one round and their responses.
// A failure is certain only if each request that was sent got its response, and
// none was sent twice: Kafka's client returns only the last error, and an
// earlier request may have succeeded with its response lost.
type produceTracker struct {
	mu          sync.Mutex // guards the following
	requests    map[int32]int
	outstanding int
}

var (
	_ kgo.HookBrokerWrite = (*produceTracker)(nil)
	_ kgo.HookBrokerRead  = (*produceTracker)(nil)
)

func (w *produceTracker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.outstanding = map[int32]int{}, 0
}

// OnBrokerWrite counts a request that was sent, or a part of it.
func (w *produceTracker) OnBrokerWrite(broker kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, _ error) {
	if key != produceKey || n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests != nil {
		w.requests[broker.NodeID]++
		w.outstanding++
	}
}

// OnBrokerRead counts a complete response.
func (w *produceTracker) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key != produceKey || err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outstanding--
}

// certain reports whether the records that failed in the round were certainly
// not stored.
func (w *produceTracker) certain() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.requests {
		if n > 1 {
			return false
		}
	}
	return w.outstanding == 0
}

// outcome gives the error of Kafka's client about a record its code. sure says that the
// record was surely not kept, unless the error itself says otherwise.
func outcome(err error, k *kgo.Record, sure bool) error {
	const doing = "append to Kafka"
	switch {
	case errors.Is(err, kerr.RequestTimedOut), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return whittle.Errorf(whittle.DeadlineExceeded, "%s: %w", doing, err)
	case !sure && (errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrClientClosed)):
		return whittle.Errorf(whittle.DeadlineExceeded, "%s: %w", doing, err)
	case !sure, errors.Is(err, kerr.UnknownServerError):
		return whittle.Errorf(whittle.Internal, "%s: %w", doing, err)
	}
	known, named := errors.AsType[*kerr.Error](err)
	if !named {
		return whittle.Errorf(whittle.Unavailable, "%s: %w", doing, err)
	}
	code, hint := whittle.Unavailable, ""
	switch {
	case isTooLarge(err):
		code, hint = whittle.Invalid, "raise the topic's max.message.bytes"
	case isContentError(err, k):
		code = whittle.Invalid
	case errors.Is(err, kerr.InvalidTimestamp):
		hint = "is this machine's clock right? See the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms"
	case errors.Is(err, kerr.InvalidRecord):
		hint = "is the topic compacted? cleanup.policy=delete"
	case isAuth(err):
		hint = "the user needs WRITE on the topic and IDEMPOTENT_WRITE on the cluster"
	}
	return whittle.Errorf(code, "%s: %w", doing, &stream.Refusal{Name: known.Message, Err: err}).WithHint(hint)
}

// isContentError reports whether the broker refused the batch because of what is in a record.
// Whatever else it refuses (the clock, a setting, who we are) is no record's fault. What it
// calls invalid of a record without a key is its topic's: it is compacted.
func isContentError(err error, k *kgo.Record) bool {
	return isTooLarge(err) || errors.Is(err, kerr.InvalidRecord) && k.Key != nil
}

func isTooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// minBatch is the least to which a topic's refusals bring the batches, in bytes.
const minBatch = 64 << 10

// shrink halves the batches where the topic takes less than it said at Open:
// its max.message.bytes has been lowered since.
func (l *Log) shrink() {
	if now := l.batch.Load(); now > minBatch {
		l.batch.CompareAndSwap(now, max(now/2, minBatch))
	}
}

// unsent is the record as it was before it was sent.
func unsent(k *kgo.Record) *kgo.Record {
	return &kgo.Record{Key: k.Key, Value: k.Value, Headers: k.Headers, Partition: k.Partition}
}

package kinesis

import (
	"slices"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// appendCall is one call of Append whose records are in flight. The queue's
// owner guards it.
type appendCall struct {
	results []stream.Result
	items   []*item
	left    int           // records without a result
	done    chan struct{} // closed when left is 0
}

// item is one record in flight.
type item struct {
	of           *appendCall
	index        int // in of.results
	queue        *keyQueue
	partitionKey string
	data         []byte
	due          time.Time // from here on it is not tried again
	inFlight     bool      // part of a call
	settled      bool      // has its result
	unknown      bool      // a call with it ended without a response
	single       bool      // only in a call of its own
	cause        error     // of its last failure, classified; nil: none yet
}

// size is what it counts for in Kinesis' limits, in bytes.
func (it *item) size() int { return len(it.partitionKey) + len(it.data) }

// keyQueue holds the records of one key, oldest first. At most one put entry
// with records of the key is in flight, and those are the queue's first, so
// that no record overtakes another one, whatever becomes of a call.
type keyQueue struct {
	key   string
	hash  hash
	items []*item
	busy  bool // a put entry with its first items is in flight
	ready bool // a shard has it among those to take from
}

// queue holds the records that wait for Kinesis and those in flight. It does no
// I/O: its owner guards it, makes the calls, and passes in time and randomness.
type queue struct {
	limits   limits
	capacity int           // bytes
	budget   time.Duration // how long a record is tried
	random   func() float64

	used       int // bytes of all that waits or is in flight
	alive      int // items without a result
	readyCount int // key queues that could be taken from
	since      time.Time
	keyQueues  map[string]*keyQueue
	order      []*item // as they came, so with growing due
	shards     shardMap
	turn       int
	counts     Counts
}

func newQueue(l limits, capacity int, budget time.Duration, random func() float64, shards []shardRange) *queue {
	q := &queue{limits: l, capacity: capacity, budget: budget, random: random, keyQueues: map[string]*keyQueue{}}
	q.shards = newShardMap(nil, shards)
	return q
}

// push adds a record. It returns false when there is no capacity for it. The
// first record may be larger than the whole queue.
func (q *queue) push(of *appendCall, index int, key string, data []byte, now time.Time) bool {
	l := q.keyQueueOf(key, now)
	it := &item{of: of, index: index, queue: l, partitionKey: l.key, data: data, due: now.Add(q.budget)}
	if q.used > 0 && q.used+it.size() > q.capacity {
		return false
	}
	q.used += it.size()
	q.alive++
	of.items = append(of.items, it)
	l.items = append(l.items, it)
	q.order = append(q.order, it)
	if key != "" {
		q.keyQueues[l.key] = l
	}
	if !l.ready && !l.busy {
		q.markReady(l, false, now)
	}
	return true
}

// keyQueueOf returns a key's queue. A record without a key gets one of its own,
// with a partition key whose shard is not held back, if a few random keys find
// one.
func (q *queue) keyQueueOf(key string, now time.Time) *keyQueue {
	if key != "" {
		pk := partitionKey(key)
		if l := q.keyQueues[pk]; l != nil {
			return l
		}
		return &keyQueue{key: pk, hash: hashOf(pk)}
	}
	var l keyQueue
	for range 4 {
		l.key = randomKey(q.random)
		l.hash = hashOf(l.key)
		if !q.shards.find(l.hash).heldBack(now) {
			break
		}
	}
	return &l
}

// randomKey returns a partition key for a record without a key: 16 letters.
func randomKey(random func() float64) string {
	var b [16]byte
	for i := range b {
		b[i] = 'a' + byte(random()*26)
	}
	return string(b[:])
}

func (q *queue) markReady(l *keyQueue, again bool, now time.Time) {
	if q.readyCount == 0 {
		q.since = now
	}
	q.readyCount++
	q.shards.find(l.hash).push(l, again)
}

// popReady returns a shard's next queue with records to send, or nil.
func (q *queue) popReady(s *shard) *keyQueue {
	for {
		l := s.pop()
		if l == nil {
			return nil
		}
		q.readyCount--
		if q.trim(l); len(l.items) > 0 {
			return l
		}
	}
}

// trim removes a key queue's first items that are settled, and the key queue
// when it is empty.
func (q *queue) trim(l *keyQueue) {
	n := 0
	for n < len(l.items) && l.items[n].settled && !l.items[n].inFlight {
		n++
	}
	l.items = slices.Delete(l.items, 0, n)
	if len(l.items) == 0 && q.keyQueues[l.key] == l {
		delete(q.keyQueues, l.key)
	}
}

// finish sets a record's result.
func (q *queue) finish(it *item, r stream.Result) {
	if it.settled {
		return
	}
	it.settled = true
	q.alive--
	if !it.inFlight {
		q.release(it)
	}
	of := it.of
	of.results[it.index] = r
	if of.left--; of.left == 0 {
		close(of.done)
	}
}

// release frees a record's memory, once no call needs it.
func (q *queue) release(it *item) {
	q.used -= it.size()
	it.data = nil
}

// fail sets a record's error, and that of later records of its key and call,
// which must not overtake it.
func (q *queue) fail(it *item, err error) {
	q.finish(it, stream.Result{Err: it.known(err)})
	behind := false
	for _, other := range it.queue.items {
		if behind && other.of == it.of && !other.inFlight {
			q.finish(other, stream.Result{Err: other.known(errEarlierFailed)})
		}
		behind = behind || other == it
	}
}

// known turns the error of an attempt that certainly had no effect into one
// that covers all attempts.
func (it *item) known(err error) error {
	if !it.unknown {
		return err
	}
	return whittle.Errorf(whittle.DeadlineExceeded, "put record: not known whether it was kept: %w", err)
}

// withdraw settles all records of an Append that have no result yet. Records in
// flight may still be stored; none is sent again.
func (q *queue) withdraw(of *appendCall, err error) {
	for _, it := range of.items {
		q.finish(it, stream.Result{Err: err})
	}
}

// expire settles records whose time is over, except those in flight, whose call
// ends soon.
func (q *queue) expire(now time.Time) {
	late := 0
	for ; late < len(q.order) && !q.order[late].due.After(now); late++ {
		if it := q.order[late]; !it.settled && !it.inFlight {
			q.fail(it, overdue(it))
		}
	}
	// The order stays in proportion to what is alive.
	if late > 0 || len(q.order) > 2*q.alive+64 {
		q.order = slices.DeleteFunc(q.order, func(it *item) bool { return it.settled })
	}
}

// overdue is the error of a record that was tried until its budget was used up.
func overdue(it *item) error {
	if it.cause == nil {
		return whittle.Errorf(whittle.ResourceExhausted, "put record: not sent within its time: the stream takes less than comes in")
	}
	return whittle.Errorf(whittle.CodeOf(it.cause), "put record: not kept within its time: %w", it.cause)
}

// nextWake returns how long the owner may sleep if nothing else happens.
func (q *queue) nextWake(now time.Time, linger time.Duration) time.Duration {
	at := now.Add(time.Second)
	for _, s := range q.shards.open {
		if !s.hasReady() {
			continue
		}
		from := q.since.Add(linger)
		if s.until.After(from) {
			from = s.until
		}
		at = earlier(at, from)
	}
	if len(q.order) > 0 && q.order[0].due.After(now) {
		at = earlier(at, q.order[0].due)
	}
	return max(at.Sub(now), time.Millisecond)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

package kinesis

import (
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// limits bound one call of PutRecords.
type limits struct {
	records   int // Kinesis records
	bytes     int // data and partition keys
	aggregate int // bytes of an aggregated record; 0: none are made
}

// putEntry is one Kinesis record of a PutRecords call: an item, or several
// aggregated ones.
type putEntry struct {
	items []*item
	size  int // an upper bound, in bytes
}

func (p *putEntry) aggregated() bool { return len(p.items) > 1 }

// pack takes what fits into one call from the shards that are not held back, in
// turn. It returns nil when there is nothing to send.
func (q *queue) pack(now time.Time) []*putEntry {
	q.expire(now)
	var from []*shard
	for i := range q.shards.open {
		s := q.shards.open[(i+q.turn)%len(q.shards.open)]
		if !s.hasReady() || s.heldBack(now) {
			continue
		}
		s.limiter.refill(now)
		from = append(from, s)
	}
	q.turn++
	var call []*putEntry
	capacity := q.limits.bytes
	for len(from) > 0 && len(call) < q.limits.records {
		more := from[:0]
		for _, s := range from {
			if len(call) == q.limits.records {
				break
			}
			p := q.take(s, capacity, len(call) == 0, now)
			if p == nil {
				continue
			}
			s.limiter.spend(p.size)
			call, capacity = append(call, p), capacity-p.size
			if p.items[0].single {
				return call
			}
			more = append(more, s)
		}
		from = more
	}
	q.since = now
	return call
}

// take makes a shard's next put entry. It returns nil when the shard has
// nothing to send, has had its share, or its next record does not fit.
func (q *queue) take(s *shard, capacity int, first bool, now time.Time) *putEntry {
	if !s.limiter.allows() {
		s.until = now.Add(s.limiter.wait())
		return nil
	}
	l := q.popReady(s)
	if l == nil {
		return nil
	}
	it := l.items[0]
	if it.size() > capacity || it.single && !first {
		q.putBack(s, l)
		return nil
	}
	p := &putEntry{size: it.size()}
	if it.single || aggregateFrame+aggregateCost(it.partitionKey, it.data) > min(capacity, q.limits.aggregate) {
		q.load(p, it)
		return p
	}
	q.fill(p, s, l, min(capacity, q.limits.aggregate))
	return p
}

// putBack puts a key queue back where it was taken from.
func (q *queue) putBack(s *shard, l *keyQueue) {
	q.readyCount++
	l.ready = true
	s.retry = append([]*keyQueue{l}, s.retry...)
}

// fill adds records of a shard's key queues, whole runs of them, until an
// aggregated record is full.
func (q *queue) fill(p *putEntry, s *shard, l *keyQueue, capacity int) {
	p.size = aggregateFrame
	for ; l != nil; l = q.popReady(s) {
		loaded := false
		for _, it := range l.items {
			if it.settled {
				continue
			}
			cost := aggregateCost(it.partitionKey, it.data)
			if it.single || p.size+cost > capacity {
				break
			}
			q.load(p, it)
			p.size += cost
			loaded = true
		}
		if !loaded {
			q.putBack(s, l)
			return
		}
	}
}

func (q *queue) load(p *putEntry, it *item) {
	it.inFlight, it.queue.busy = true, true
	p.items = append(p.items, it)
}

// disposition is what became of a put entry.
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
	// split says that the call was rejected as a whole: its records are tried
	// one by one, so that one of them does not take the others with it.
	split bool
	// whole says that the call failed as a whole, for reasons that are not one
	// shard's.
	whole bool
}

// tally is what a call said of one shard. atLimit: Kinesis named records of the
// shard that are above its limit.
type tally struct{ kept, failed, throttled, atLimit bool }

func (t *tally) add(o outcome) {
	t.kept = t.kept || o.disposition == kept
	t.failed = t.failed || o.disposition == refused || o.disposition == unknown
	t.throttled = t.throttled || o.disposition == refused && whittle.CodeOf(o.cause) == whittle.ResourceExhausted
	t.atLimit = t.throttled && !o.whole
}

// settle takes a call's outcomes in: one a put entry, in order.
func (q *queue) settle(call []*putEntry, outcomes []outcome, begun, now time.Time) {
	tallies := map[*shard]*tally{}
	var affected []*shard // in the order of the call, so that the same randomness gives the same waits
	for i, p := range call {
		s := q.shards.find(p.items[0].queue.hash)
		if tallies[s] == nil {
			tallies[s] = &tally{}
			affected = append(affected, s)
		}
		tallies[s].add(outcomes[i])
		if outcomes[i].disposition == kept {
			s.limiter.keeps(p.size)
		}
		q.settleEntry(p, outcomes[i])
	}
	for _, s := range affected {
		if t := tallies[s]; t.failed {
			s.failed(*t, begun, now, q.random())
		} else if t.kept {
			s.failures = 0
		}
	}
	for i, p := range call {
		for _, it := range p.items {
			if l := it.queue; l.busy {
				l.busy = false
				if q.trim(l); len(l.items) > 0 {
					q.markReady(l, outcomes[i].disposition != kept, now)
				}
			}
		}
	}
}

func (q *queue) settleEntry(p *putEntry, o outcome) {
	for i, it := range p.items {
		it.inFlight = false
		if it.settled {
			q.release(it)
			continue
		}
		q.settleItem(p, i, it, o)
	}
}

func (q *queue) settleItem(p *putEntry, place int, it *item, o outcome) {
	switch o.disposition {
	case kept:
		if p.aggregated() && !q.belongs(it, o.shard) {
			// Readers drop what an aggregated record carries into a shard that
			// its key does not belong to, so it is not kept yet.
			q.counts.Rerouted++
			it.cause, it.unknown = errWrongShard, it.unknown || !q.known(o.shard)
			return
		}
		q.counts.Kept++
		q.finish(it, stream.Result{Position: stream.Position{Partition: o.shard, Offset: offset(o.sequence, place)}})
	case refused:
		q.counts.Refused++
		it.cause = o.cause
	case unknown:
		q.counts.Unknown++
		it.cause, it.unknown = o.cause, true
	case rejected:
		if o.split {
			it.single, it.cause = true, o.cause
			return
		}
		q.counts.Rejected++
		q.fail(it, o.cause)
	}
}

func (q *queue) known(shard string) bool {
	_, known := q.shards.spans[shard]
	return known
}

// belongs reports whether a shard is the one for a record's key.
func (q *queue) belongs(it *item, shard string) bool {
	s, known := q.shards.spans[shard]
	return known && s.has(it.queue.hash)
}

// remap applies a new listing of the shards and assigns the key queues to them.
func (q *queue) remap(listing []shardRange, now time.Time) {
	before := q.shards.open
	next := newShardMap(before, listing)
	if len(next.open) == 0 {
		return
	}
	q.shards = next
	for _, s := range before {
		for again := len(s.retry); s.hasReady(); again-- {
			l := s.pop()
			q.readyCount--
			q.markReady(l, again > 0, now)
		}
	}
}

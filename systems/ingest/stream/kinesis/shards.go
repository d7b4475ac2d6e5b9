package kinesis

import (
	"slices"
	"time"

	"whittle/systems/ingest/stream"
)

// shardRange is a shard as Kinesis lists it.
type shardRange struct {
	id      string
	span    span
	closed  bool
	parents []string // the shards that it was split off or merged from
}

// shard is an open shard with the key queues whose next records go to it.
type shard struct {
	id   string
	span span

	retry []*keyQueue // their first record failed before: they go first
	ready []*keyQueue

	failures int       // in a row
	failedAt time.Time // the last one
	until    time.Time // held back until then
	limiter  shardLimiter
}

func (s *shard) hasReady() bool { return len(s.retry)+len(s.ready) > 0 }

func (s *shard) heldBack(now time.Time) bool { return now.Before(s.until) }

func (s *shard) push(l *keyQueue, again bool) {
	l.ready = true
	if again {
		s.retry = append(s.retry, l)
	} else {
		s.ready = append(s.ready, l)
	}
}

// pop returns the next key queue, or nil.
func (s *shard) pop() *keyQueue {
	from := &s.ready
	if len(s.retry) > 0 {
		from = &s.retry
	}
	if len(*from) == 0 {
		return nil
	}
	l := (*from)[0]
	(*from)[0], *from = nil, (*from)[1:]
	l.ready = false
	return l
}

// Waiting after a failure, so that many writers do not come back at the same moment.
const (
	backoffBase = 50 * time.Millisecond
	backoffCap  = 2 * time.Second
	// limitCap is the most where the shard is up and at its limit, and the
	// limiter says how much it is sent: a longer wait would sleep through seconds
	// in which the shard takes something.
	limitCap = 100 * time.Millisecond
)

func backoff(failures int, random float64) time.Duration {
	return stream.Backoff(failures-1, backoffBase, backoffCap, random)
}

// failed holds a shard back. Several calls in flight at once report the same
// failure, so that only one that began after the last failure counts. When a
// call stored other records of the shard, the shard is not down but at its
// limit.
func (s *shard) failed(t tally, begun, now time.Time, random float64) {
	if !begun.After(s.failedAt) && s.failures > 0 {
		return
	}
	s.failures++
	if t.kept {
		s.failures = 1
	}
	if t.throttled {
		s.limiter.throttled(now)
	}
	wait := backoff(s.failures, random)
	if t.atLimit {
		wait = min(wait, time.Duration(random*float64(limitCap)))
	}
	s.failedAt, s.until = now, now.Add(wait)
}

// shardMap is what is known of a stream's shards.
type shardMap struct {
	open  []*shard        // by span
	spans map[string]span // by id, closed ones too
}

// newShardMap makes the map of a listing. Known shards keep their state, but
// not their key queues.
func newShardMap(before []*shard, listing []shardRange) shardMap {
	known := make(map[string]*shard, len(before))
	for _, s := range before {
		known[s.id] = s
	}
	m := shardMap{spans: make(map[string]span, len(listing))}
	for _, r := range listing {
		m.spans[r.id] = r.span
		if r.closed {
			continue
		}
		s := &shard{id: r.id, span: r.span}
		if old := known[r.id]; old != nil {
			s.failures, s.failedAt, s.until, s.limiter = old.failures, old.failedAt, old.until, old.limiter
		}
		m.open = append(m.open, s)
	}
	slices.SortFunc(m.open, func(a, b *shard) int { return a.span.from.compare(b.span.from) })
	return m
}

// find returns the shard for a hash: the last one that begins at or before it.
func (m shardMap) find(h hash) *shard {
	i, found := slices.BinarySearchFunc(m.open, h, func(s *shard, h hash) int { return s.span.from.compare(h) })
	if !found && i > 0 {
		i--
	}
	return m.open[i]
}

package kinesis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// contention is writers that have more for the first shard of a stream than it
// takes, and a little for the others.
type contention struct {
	writers, shards int
	others          float64 // which part of the first shard's limit is not for these writers
	bucket          bool    // Kinesis counts by a bucket that fills; otherwise by seconds
	waiting, size   int     // records of a writer for the first shard, and their bytes
	latency         time.Duration
}

// contender is one writer.
type contender struct {
	queue *queue
	calls []pendingCall
	hot   int // records for the first shard without a result
}

type pendingCall struct {
	call        []*putEntry
	begun, done time.Time
}

// limited is what a shard has left.
type limited struct{ records, bytes float64 }

// contest is a run of it.
type contest struct {
	contention

	random *rand.Rand
	all    []*contender
	limits []limited
	now    time.Time
	pushed int

	kept, refused int // of the first shard, since the warm-up
	late          int // records of other shards that were refused
}

// run gives which part of the rest was used, and how many records were refused
// for one that was kept.
func (c contention) run() (used, refused float64, late int) {
	r := &contest{contention: c, random: rand.New(rand.NewPCG(1, 2)), limits: make([]limited, c.shards), now: time.Unix(1_700_000_000, 0)}
	for range c.writers {
		q := newQueue(limits{records: maxCallRecords, bytes: maxCallBytes}, 64<<20, time.Hour, r.random.Float64, evenly(c.shards, 0))
		r.all = append(r.all, &contender{queue: q})
	}
	for i := range r.limits {
		r.limits[i] = limited{shardRecords, shardBytes}
	}
	const seconds, warm = 15, 5
	for ms := range seconds * 1000 {
		if ms == warm*1000 {
			r.kept, r.refused = 0, 0
		}
		r.now = r.now.Add(time.Millisecond)
		r.refill(ms%1000 == 0)
		for _, w := range r.all {
			for ; w.hot < c.waiting; w.hot++ { // there is always more
				r.push(w, true)
			}
			if c.shards > 1 && ms%10 == 0 {
				r.push(w, false)
			}
			r.step(w)
		}
	}
	most := min(shardRecords, float64(shardBytes)/float64(c.size+10)) * (1 - c.others)
	return float64(r.kept) / ((seconds - warm) * most), float64(r.refused) / float64(r.kept), r.late
}

// refill is what a millisecond gives the shards.
func (r *contest) refill(newSecond bool) {
	for i := range r.limits {
		rest, l := 1.0, &r.limits[i]
		if i == 0 {
			rest -= r.others
		}
		switch {
		case r.bucket:
			l.records = min(shardRecords, l.records+shardRecords*rest/1000)
			l.bytes = min(shardBytes, l.bytes+shardBytes*rest/1000)
		case newSecond:
			*l = limited{shardRecords * rest, shardBytes * rest}
		}
	}
}

// push adds a record for the first shard, or for any other.
func (r *contest) push(w *contender, hot bool) {
	for {
		r.pushed++
		key := fmt.Sprint(r.pushed)
		if (w.queue.shards.find(hashOf(partitionKey(key))) == w.queue.shards.open[0]) == hot {
			of := &appendCall{done: make(chan struct{}), left: 1, results: make([]stream.Result, 1)}
			w.queue.push(of, 0, key, make([]byte, r.size), r.now)
			return
		}
	}
}

// step ends the calls that are due, and begins one.
func (r *contest) step(w *contender) {
	for len(w.calls) > 0 && !w.calls[0].done.After(r.now) {
		c := w.calls[0]
		w.calls = w.calls[1:]
		outcomes := make([]outcome, len(c.call))
		for i, p := range c.call {
			outcomes[i] = r.put(w, p)
		}
		w.queue.settle(c.call, outcomes, c.begun, r.now)
	}
	if len(w.calls) < 16 {
		if call := w.queue.pack(r.now); call != nil {
			w.calls = append(w.calls, pendingCall{call, r.now, r.now.Add(r.latency)})
		}
	}
}

// put is what Kinesis does with a record.
func (r *contest) put(w *contender, p *putEntry) outcome {
	to, at := w.queue.shards.find(p.items[0].queue.hash), 0
	for w.queue.shards.open[at] != to {
		at++
	}
	l := &r.limits[at]
	if l.records < 1 || l.bytes < float64(p.size) {
		if at == 0 {
			r.refused++
		} else {
			r.late++
		}
		return outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "slow down")}
	}
	l.records, l.bytes = l.records-1, l.bytes-float64(p.size)
	if at == 0 {
		w.hot--
		r.kept++
	}
	return outcome{disposition: kept, shard: to.id, sequence: "1"}
}

// TestAThrottledShardIsUsed simulates a saturated shard: whether Kinesis counts by
// seconds or by a bucket, and whatever waits, a shard that nobody else writes to
// is used to 98 % and more of its limit, and one of which others use half or four
// fifths to 94 % and more of the rest.
func TestAThrottledShardIsUsed(t *testing.T) {
	for _, c := range []contention{
		{writers: 1, shards: 1, waiting: 64, latency: 5 * time.Millisecond},
		{writers: 1, shards: 1, waiting: 64, latency: 20 * time.Millisecond},
		{writers: 1, shards: 1, waiting: 3000, latency: 20 * time.Millisecond},
		{writers: 1, shards: 4, waiting: 64, latency: 20 * time.Millisecond},
		{writers: 2, shards: 1, waiting: 64, latency: 20 * time.Millisecond},
	} {
		for _, c.others = range []float64{0, 0.5, 0.8} {
			for _, c.bucket = range []bool{false, true} {
				for _, c.size = range []int{300, 20_000} {
					used, again, late := c.run()
					about := fmt.Sprintf("%+v: %.1f %% used, %.2f refused for one kept, %d of other shards", c, 100*used, again, late)
					t.Log(about)
					least, most := 0.98, 0.2+c.others+2*float64(c.writers-1)
					if c.others > 0 {
						least = 0.94
					}
					if used < least || again > most || late > 0 {
						t.Error(about)
					}
				}
			}
		}
	}
}

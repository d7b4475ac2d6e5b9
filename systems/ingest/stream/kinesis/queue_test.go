package kinesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// evenly splits the hash space into n shards, with ids from first on.
func evenly(n, first int) []shardRange {
	step := ^uint64(0)/uint64(n) + 1
	ranges := make([]shardRange, n)
	for i := range ranges {
		from, to := uint64(i)*step, uint64(i+1)*step-1
		if i == n-1 {
			to = ^uint64(0)
		}
		ranges[i] = shardRange{id: fmt.Sprintf("shard-%03d", first+i), span: span{hash{from, 0}, hash{to, ^uint64(0)}}}
	}
	return ranges
}

// simulated is a Kinesis that keeps what the test wants kept.
type simulated struct {
	t           *testing.T
	random      *rand.Rand
	queue       *queue
	now         time.Time
	shards      []shardRange // as they are, which the queue may not know yet
	reshardings int
	calls       [][]*putEntry // in flight
	begun       []time.Time

	keys  map[*item]string
	order map[*item]int      // of pushing
	there map[string][]*item // readable, by key in order
	doubt map[*item]bool     // an unknown outcome may have left a double
	all   []*appendCall
}

func (s *simulated) push() {
	n := 1 + s.random.IntN(5)
	of := &appendCall{results: make([]stream.Result, n), left: n, done: make(chan struct{})}
	s.all = append(s.all, of)
	full := false
	for i := range n {
		key := ""
		if s.random.IntN(4) > 0 {
			key = fmt.Sprintf("k%d", s.random.IntN(6))
		}
		data := make([]byte, 1+s.random.IntN(120))
		if full || !s.queue.push(of, i, key, data, s.now) {
			full = true
			of.results[i].Err = errFull
			of.left--
			continue
		}
		it := of.items[len(of.items)-1]
		s.keys[it], s.order[it] = key, len(s.order)
	}
	if s.random.IntN(20) == 0 {
		s.queue.withdraw(of, whittle.Errorf(whittle.Canceled, "gone"))
	}
}

// begin packs a call and checks what holds for each.
func (s *simulated) begin() {
	held := map[*shard]bool{}
	for _, sh := range s.queue.shards.open {
		held[sh] = sh.heldBack(s.now)
	}
	call := s.queue.pack(s.now)
	if call == nil {
		return
	}
	s.calls, s.begun = append(s.calls, call), append(s.begun, s.now)
	for _, p := range call {
		if sh := s.queue.shards.find(p.items[0].queue.hash); held[sh] {
			s.t.Errorf("a call has records of %s, which is held back", sh.id)
		}
	}
	size := 0
	for _, p := range call {
		e := p.entry()
		n := len(*e.PartitionKey) + len(e.Data)
		size += n
		if p.aggregated() && n > s.queue.limits.aggregate+len(*e.PartitionKey) {
			s.t.Errorf("an aggregated record of %d bytes", n)
		}
		if p.items[0].single && len(call) > 1 {
			s.t.Error("a record that goes alone is not alone")
		}
	}
	if len(call) > s.queue.limits.records || size > s.queue.limits.bytes {
		s.t.Errorf("a call of %d records and %d bytes", len(call), size)
	}
	s.checkKeysFlyOnce()
}

// checkKeysFlyOnce fails where two put entries have records of one key.
func (s *simulated) checkKeysFlyOnce() {
	in := map[string]*putEntry{}
	for _, call := range s.calls {
		for _, p := range call {
			for _, it := range p.items {
				key := s.keys[it]
				if other := in[key]; key != "" && other != nil && other != p {
					s.t.Errorf("records of %s are on their way twice", key)
				}
				in[key] = p
			}
		}
	}
}

func (s *simulated) shardOf(h hash) shardRange {
	for _, r := range s.shards {
		if r.span.has(h) {
			return r
		}
	}
	s.t.Fatal("no shard")
	return shardRange{}
}

// end returns one of the calls in flight its outcomes.
func (s *simulated) end() {
	if len(s.calls) == 0 {
		return
	}
	i := s.random.IntN(len(s.calls))
	call, begun := s.calls[i], s.begun[i]
	s.calls = append(s.calls[:i:i], s.calls[i+1:]...)
	s.begun = append(s.begun[:i:i], s.begun[i+1:]...)
	outcomes := make([]outcome, len(call))
	whole := s.random.IntN(8) // of the whole call, or of each record
	for j, p := range call {
		o := &outcomes[j]
		switch draw := s.random.IntN(10); {
		case whole == 0:
			*o = outcome{disposition: unknown, cause: whittle.Errorf(whittle.DeadlineExceeded, "cut")}
			if draw < 5 {
				s.keep(p)
			}
			for _, it := range p.items {
				s.doubt[it] = true
			}
		case whole == 1:
			*o = outcome{disposition: rejected, split: len(call) > 1 || p.aggregated(), cause: whittle.Errorf(whittle.Invalid, "bad")}
		case draw < 3:
			*o = outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "slow down")}
		default:
			*o = outcome{disposition: kept, shard: s.keep(p), sequence: fmt.Sprint(1000 + len(s.order))}
		}
	}
	s.queue.settle(call, outcomes, begun, s.now)
}

// keep is what Kinesis and its readers do: the put entry goes to the shard of its
// partition key, and what does not belong there is not seen.
func (s *simulated) keep(p *putEntry) (shard string) {
	r := s.shardOf(hashOf(*p.entry().PartitionKey))
	if _, known := s.queue.shards.spans[r.id]; !known {
		s.queue.remap(s.shards, s.now)
	}
	for _, it := range p.items {
		if key := s.keys[it]; r.span.has(it.queue.hash) {
			s.there[key] = append(s.there[key], it)
		}
	}
	return r.id
}

func (s *simulated) step() {
	s.now = s.now.Add(time.Duration(s.random.IntN(40)) * time.Millisecond)
	switch draw := s.random.IntN(100); {
	case draw < 40:
		s.push()
	case draw < 70:
		s.begin()
	case draw < 98:
		s.end()
	default:
		s.reshardings++
		s.shards = evenly(1+s.random.IntN(5), 100*s.reshardings)
	}
}

// check holds the ledger against what is there.
func (s *simulated) check() {
	times := map[*item]int{}
	for key, items := range s.there {
		before := -1
		for _, it := range items {
			if times[it]++; times[it] > 1 {
				continue // a reader that knows ids drops it
			}
			if key != "" && s.order[it] < before {
				s.t.Errorf("record %d of %s comes after record %d", s.order[it], key, before)
			}
			before = s.order[it]
		}
	}
	for it, n := range times {
		if n > 1 && !s.doubt[it] {
			s.t.Errorf("record %d is there %d times without a doubt", s.order[it], n)
		}
	}
	for _, of := range s.all {
		if of.left != 0 {
			s.t.Fatal("an Append waits for ever")
		}
		failed := map[string]bool{}
		for _, it := range of.items {
			err, key := of.results[it.index].Err, s.keys[it]
			if err == nil && times[it] == 0 {
				s.t.Errorf("record %d was acknowledged and is not there", s.order[it])
			}
			if err == nil && key != "" && failed[key] {
				s.t.Errorf("record %d passed a failed one", s.order[it])
			}
			if code := whittle.CodeOf(err); err != nil && times[it] > 0 && (code == whittle.Unavailable || code == whittle.ResourceExhausted || code == whittle.Invalid) {
				s.t.Errorf("record %d is there, and was said surely not to be: %v", s.order[it], err)
			}
			failed[key] = failed[key] || err != nil
		}
	}
	if q := s.queue; q.used != 0 || q.alive != 0 || len(q.keyQueues) != 0 {
		s.t.Errorf("left behind: %d bytes, %d records, %d key queues", q.used, q.alive, len(q.keyQueues))
	}
}

// TestQueueKeepsOrderWithinLimits drives the queue against a simulated Kinesis
// with every kind of failure, reshardings and callers that give up.
func TestQueueKeepsOrderWithinLimits(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := limits{records: 1 + random.IntN(8), bytes: 150 + random.IntN(600)}
		if seed%2 == 1 {
			l.aggregate = 100 + random.IntN(l.bytes)
		}
		shards := evenly(1+random.IntN(4), 0)
		s := &simulated{
			t: t, random: random, shards: shards, now: time.Unix(1_700_000_000, 0),
			queue: newQueue(l, 4000, 2*time.Second, random.Float64, shards),
			keys:  map[*item]string{}, order: map[*item]int{}, there: map[string][]*item{}, doubt: map[*item]bool{},
		}
		for range 600 {
			s.step()
		}
		for s.queue.alive > 0 || len(s.calls) > 0 {
			s.now = s.now.Add(20 * time.Millisecond)
			s.begin()
			s.end()
		}
		s.queue.expire(s.now)
		s.drainQueues()
		s.check()
		if t.Failed() {
			t.Fatalf("seed %d, limits %+v", seed, l)
		}
	}
}

// drainQueues releases key queues whose records have all ended, as the next call
// of a running stream would.
func (s *simulated) drainQueues() {
	for _, sh := range s.queue.shards.open {
		sh.until = time.Time{}
	}
	if call := s.queue.pack(s.now); len(call) > 0 {
		s.t.Error("there is something to send, though every record has ended")
	}
}

func TestThrottledShardHoldsBackNoOther(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	random := rand.New(rand.NewPCG(7, 7))
	q := newQueue(limits{records: 500, bytes: 5 << 20}, 1<<20, time.Minute, random.Float64, evenly(2, 0))
	of := &appendCall{results: make([]stream.Result, 101), left: 101, done: make(chan struct{})}
	for i := range 100 {
		q.push(of, i, fmt.Sprint("key", i), []byte("x"), now)
	}
	throttled := q.shards.open[0]
	call := q.pack(now)
	if len(call) != 100 {
		t.Fatalf("%d parcels, want 100", len(call))
	}
	outcomes := make([]outcome, len(call))
	failed := 0
	for i, p := range call {
		outcomes[i] = outcome{disposition: kept, shard: "shard-001", sequence: "1"}
		if throttled.span.has(p.items[0].queue.hash) {
			failed++
			outcomes[i] = outcome{disposition: refused, cause: errors.New("throttled")}
		}
	}
	q.settle(call, outcomes, now, now)
	if !throttled.heldBack(now) || q.shards.open[1].heldBack(now) {
		t.Fatal("not the throttled shard is held back, or more than that")
	}
	q.push(of, 100, "", []byte("x"), now)
	if again := q.pack(now); len(again) != 1 {
		t.Errorf("%d parcels while one shard is held back, want the one without a key, which avoids it", len(again))
	}
	if again := q.pack(throttled.until); len(again) != failed {
		t.Errorf("%d parcels after it, want the %d that failed", len(again), failed)
	}
}

func TestBackoffIsBoundedFullJitter(t *testing.T) {
	for failures := 1; failures < 100; failures++ {
		low, high := backoff(failures, 0), backoff(failures, 1)
		if low != 0 || high < backoffBase || high > backoffCap {
			t.Fatalf("after %d failures: %v to %v", failures, low, high)
		}
	}
}

func TestFailureOfCallsInFlightCountsOnce(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(ms) * time.Millisecond) }
	var s shard
	s.failed(tally{}, at(0), at(10), 1)
	s.failed(tally{}, at(5), at(12), 1) // begun before the first one's failure was known
	if s.failures != 1 {
		t.Fatalf("%d failures, want 1", s.failures)
	}
	s.failed(tally{}, at(100), at(110), 1)
	if s.failures != 2 || !s.until.After(at(110+99)) {
		t.Fatalf("%d failures until %v", s.failures, s.until)
	}
	s.failed(tally{kept: true}, at(400), at(410), 1)
	if s.failures != 1 {
		t.Fatal("a shard at its limit is treated as one that is down")
	}
}

func TestOverdueSaysWhatIsKnown(t *testing.T) {
	throttle := whittle.Errorf(whittle.ResourceExhausted, "slow down")
	for name, c := range map[string]struct {
		it   item
		want whittle.Code
	}{
		"never sent":     {item{}, whittle.ResourceExhausted},
		"throttled":      {item{cause: throttle}, whittle.ResourceExhausted},
		"down":           {item{cause: whittle.Errorf(whittle.Unavailable, "refused")}, whittle.Unavailable},
		"once not known": {item{cause: throttle, unknown: true}, whittle.DeadlineExceeded},
	} {
		if got := whittle.CodeOf(c.it.known(overdue(&c.it))); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestPaceFindsAShardsLimit writes as fast as it may to a shard that takes
// 1,000 records each second and throttles what is above.
func TestPaceFindsAShardsLimit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var p shardLimiter
	sent, refused, taken := 0, 0, 0
	second := now.Unix()
	for step := range 60_000 / 10 {
		now = now.Add(10 * time.Millisecond)
		if now.Unix() != second {
			second, taken = now.Unix(), 0
		}
		p.refill(now)
		throttled := false
		for i := 0; i < 100 && p.allows(); i++ {
			p.spend(100)
			if taken++; taken > shardRecords {
				refused, throttled = refused+1, true
			} else {
				sent++
			}
		}
		if throttled {
			p.throttled(now)
		}
		if p.share > 0 && !p.allows() && p.wait() < minInterval {
			t.Fatalf("step %d: a wait of %v", step, p.wait())
		}
	}
	if sent < 60*shardRecords*3/4 || refused > sent/5 {
		t.Errorf("%d records kept and %d refused in a minute", sent, refused)
	}
	p.throttled(now)
	p.refill(now.Add(time.Hour))
	if p.share != 0 {
		t.Error("an hour without throttling leaves a bound")
	}
}

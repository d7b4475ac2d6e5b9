package kinesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"whittle"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// ledger holds the results that producers got, by record id.
type ledger struct {
	mu      sync.Mutex // guards the following
	results map[string]error
}

// produce appends records of keys that are its own, call after call, and
// writes down every response.
func (l *ledger) produce(t *testing.T, s stream.Stream, producer, calls int) {
	random := rand.New(rand.NewPCG(uint64(producer), 3))
	for n := range fewer(calls) {
		var batch []stream.Record
		for i := range 1 + random.IntN(20) {
			key := fmt.Sprintf("p%d-k%d", producer, random.IntN(4))
			if random.IntN(4) == 0 {
				key = ""
			}
			id := fmt.Sprintf("%d-%05d-%02d", producer, n, i)
			batch = append(batch, record(key, id, string(make([]byte, random.IntN(2000)))))
		}
		results := s.Append(t.Context(), batch)
		l.mu.Lock()
		for i, r := range results {
			l.results[batch[i].ID] = r.Err
		}
		l.mu.Unlock()
	}
}

func (l *ledger) acknowledged() int {
	n := 0
	for _, err := range l.results {
		if err == nil {
			n++
		}
	}
	return n
}

// hold compares the ledger with what is there: nothing acknowledged is
// missing, nothing is there that surely was not kept, each key's records are
// in order, and there are no more doubles than attempts without a response.
func (l *ledger) hold(t *testing.T, got []stream.Entry, unknown int64) {
	t.Helper()
	times := map[string]int{}
	last := map[string]string{}
	doubles := int64(0)
	for _, e := range got {
		if times[e.ID]++; times[e.ID] > 1 {
			doubles++
			continue
		}
		if e.Key != "" && e.ID < last[e.Key] {
			t.Errorf("%s comes after %s of the same key", e.ID, last[e.Key])
		}
		last[e.Key] = e.ID
	}
	for id, err := range l.results {
		code := whittle.CodeOf(err)
		switch {
		case err == nil && times[id] == 0:
			t.Errorf("%s was acknowledged and is missing", id)
		case err != nil && times[id] > 0 && (code == whittle.Unavailable || code == whittle.ResourceExhausted || code == whittle.Invalid):
			t.Errorf("%s is there, and was said surely not to be: %v", id, err)
		}
	}
	if doubles > unknown {
		t.Errorf("%d doubles, though only %d attempts had no response", doubles, unknown)
	}
	t.Logf("%d records with a result, %d acknowledged, %d doubles of %d attempts without a response", len(l.results), l.acknowledged(), doubles, unknown)
}

// readOut puts a last record onto every open shard, and reads all shards up to
// it or to their end.
func readOut(t *testing.T, s *Stream, name string) []stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longer(20*time.Second))
	defer cancel()
	shards, err := s.listShards(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client, end := needAPI(t).Client()
	defer end()
	last := record("", "last", "")
	var all []stream.Entry
	for _, sh := range shards {
		if !sh.closed {
			if _, err := client.PutRecord(ctx, &kinesis.PutRecordInput{
				StreamName: &name, PartitionKey: aws.String("last"), ExplicitHashKey: aws.String(sh.span.from.String()),
				Data: stream.AppendRecord(nil, &last),
			}); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, readShard(ctx, t, s, sh.id)...)
	}
	return all
}

func readShard(ctx context.Context, t *testing.T, s *Stream, shard string) []stream.Entry {
	t.Helper()
	r, err := s.Read(ctx, stream.Position{Partition: shard})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []stream.Entry
	into := make([]stream.Entry, 500)
	for {
		n, err := r.Next(ctx, into)
		for _, e := range into[:n] {
			if e.ID == "last" {
				return all
			}
			all = append(all, e)
		}
		if errors.Is(err, stream.ErrEnded) {
			if !strings.Contains(err.Error(), "goes on in shardId-0") {
				t.Errorf("a closed shard ends with %v", err)
			}
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longer(10*time.Second))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("never happened:", what)
		}
	}
}

func newProxy(t *testing.T, f kinesistest.Faults) *kinesistest.Proxy {
	t.Helper()
	p, err := kinesistest.NewProxy(t.Context(), needAPI(t).URL, 11)
	if err != nil {
		t.Fatal(err)
	}
	p.Set(f)
	t.Cleanup(func() { p.Close() })
	return p
}

func TestNothingAcknowledgedIsLostUnderFaults(t *testing.T) {
	t.Parallel()
	for _, aggregate := range []int{0, 8 << 10} {
		t.Run(fmt.Sprint("aggregate ", aggregate), func(t *testing.T) {
			name := newStream(t, 3)
			proxy := newProxy(t, kinesistest.Faults{
				Throttle: 0.05, Internal: 0.05, Lost: 0.05, Hang: 0.02, HangKept: 0.02, Cut: 0.05,
				Partial: 0.3, PartialOf: 0.2,
			})
			s := open(t, Options{
				Stream: name, Endpoint: proxy.URL, Aggregate: aggregate,
				CallTimeout: longer(250 * time.Millisecond), Budget: longer(5 * time.Second),
			})
			l := &ledger{results: map[string]error{}}
			var producers sync.WaitGroup
			for p := range 8 {
				producers.Go(func() { l.produce(t, s, p, 12) })
			}
			producers.Wait()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			injected := proxy.Counts()
			for _, fault := range []string{"partial", "cut", "lost"} {
				if injected[fault] == 0 && !slow() {
					t.Errorf("no %s among the faults: %v", fault, injected)
				}
			}
			t.Log(injected, s.Counts())
			l.hold(t, readOut(t, open(t, Options{Stream: name}), name), s.Counts().Unknown)
		})
	}
}

func TestWithoutFaultsNothingIsThereTwice(t *testing.T) {
	name := newStream(t, 2)
	s := open(t, Options{Stream: name})
	l := &ledger{results: map[string]error{}}
	var producers sync.WaitGroup
	for p := range 8 {
		producers.Go(func() { l.produce(t, s, p, 20) })
	}
	producers.Wait()
	if len(l.results) != l.acknowledged() {
		t.Errorf("%d of %d acknowledged", l.acknowledged(), len(l.results))
	}
	c := s.Counts()
	if c.Kept != int64(len(l.results)) || c.Refused+c.Unknown+c.Rejected > 0 || c.Calls >= c.Kept {
		t.Errorf("counts %+v", c)
	}
	l.hold(t, readOut(t, s, name), 0)
}

// TestThrottledShardLeavesOthersAlone throttles every record of one shard, and
// sees those of the other acknowledged meanwhile.
func TestThrottledShardLeavesOthersAlone(t *testing.T) {
	name := newStream(t, 2)
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: name, Endpoint: proxy.URL, Budget: time.Minute})
	throttled := s.queue.shards.open[0].span
	proxy.Set(kinesistest.Faults{Refuse: func(pk string) bool { return throttled.has(hashOf(pk)) }})

	var stuck, free []stream.Record
	for i := range 200 {
		r := record(fmt.Sprint("key", i), fmt.Sprint(i), "v")
		if throttled.has(hashOf(r.Key)) {
			stuck = append(stuck, r)
		} else {
			free = append(free, r)
		}
	}
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(t.Context(), stuck) }()
	for range 5 {
		for _, r := range s.Append(t.Context(), free) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	select {
	case <-done:
		t.Fatal("the throttled shard's records are through")
	default:
	}
	proxy.Set(kinesistest.Faults{})
	for _, r := range <-done {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func TestResultsSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults kinesistest.Faults
		want   whittle.Code
	}{
		"throttled":       {kinesistest.Faults{Throttle: 1}, whittle.ResourceExhausted},
		"records refused": {kinesistest.Faults{Refuse: func(string) bool { return true }}, whittle.ResourceExhausted},
		"500":             {kinesistest.Faults{Internal: 1}, whittle.DeadlineExceeded},
		"hung":            {kinesistest.Faults{HangKept: 1}, whittle.DeadlineExceeded},
		"cut":             {kinesistest.Faults{Cut: 1}, whittle.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := newProxy(t, kinesistest.Faults{})
			o := Options{Stream: newStream(t, 1), Endpoint: proxy.URL, Budget: 200 * time.Millisecond, CallTimeout: 100 * time.Millisecond}
			if c.want == whittle.ResourceExhausted {
				o.Budget, o.CallTimeout = time.Second, time.Minute // a refusal comes, however busy the machine is
			}
			s := open(t, o)
			proxy.Set(c.faults)
			// The budget may end while a call is under way, whose outcome is then
			// not known, as it is said: that is no response to what is asked here.
			var err error
			for range 5 {
				if err = s.Append(t.Context(), []stream.Record{record("k", "", "v")})[0].Err; whittle.CodeOf(err) == c.want {
					break
				}
			}
			if err == nil || whittle.CodeOf(err) != c.want {
				t.Fatalf("got %v (%v), want %v", err, whittle.CodeOf(err), c.want)
			}
		})
	}
}

func TestCallerWhoGivesUpReturnsSoon(t *testing.T) {
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: newStream(t, 1), Endpoint: proxy.URL, CallTimeout: 100 * time.Millisecond})
	proxy.Set(kinesistest.Faults{Hang: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(ctx, []stream.Record{record("k", "", "v"), record("k", "", "w")}) }()
	eventually(t, "a call", func() bool { return s.Counts().Calls > 0 })
	cancel()
	for _, r := range <-done {
		if whittle.CodeOf(r.Err) != whittle.Canceled {
			t.Error(r.Err)
		}
	}
	proxy.Set(kinesistest.Faults{})
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: newStream(t, 1), Endpoint: proxy.URL, Queue: 10_000, CallTimeout: 100 * time.Millisecond})
	proxy.Set(kinesistest.Faults{Hang: 1})
	full := s.Capacity().Free
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(ctx, []stream.Record{record("k", "", string(make([]byte, 9000)))}) }()
	eventually(t, "a queue in use", func() bool { return s.Capacity().Free < full })
	big, small := record("a", "", string(make([]byte, 3000))), record("a", "", "x")
	for _, r := range s.Append(t.Context(), []stream.Record{big, small}) {
		if whittle.CodeOf(r.Err) != whittle.ResourceExhausted {
			t.Error("a full queue:", r.Err)
		}
	}
	cancel()
	<-done
	proxy.Set(kinesistest.Faults{})
}

func TestOutageShowsInCapacityAndEnds(t *testing.T) {
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: newStream(t, 1), Endpoint: proxy.URL})
	proxy.Set(kinesistest.Faults{Internal: 1})
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(t.Context(), []stream.Record{record("k", "", "v")}) }()
	eventually(t, "an outage that shows", func() bool { return s.Capacity().Err != nil })
	proxy.Set(kinesistest.Faults{})
	if r := <-done; r[0].Err != nil {
		t.Error(r[0].Err)
	}
	if capacity := s.Capacity(); capacity.Err != nil || capacity.Rate <= 0 {
		t.Errorf("after the outage: %+v", capacity)
	}
}

// TestReshardingIsFollowed splits the only shard under way: all is acknowledged
// and readable, in order over parent and children, and the parent's end says so.
func TestReshardingIsFollowed(t *testing.T) {
	for _, aggregate := range []int{0, 8 << 10} {
		t.Run(fmt.Sprint("aggregate ", aggregate), func(t *testing.T) {
			name := newStream(t, 1)
			s := open(t, Options{Stream: name, Aggregate: aggregate})
			l := &ledger{results: map[string]error{}}
			l.produce(t, s, 1, 10)
			client, end := needAPI(t).Client()
			defer end()
			parent := s.queue.shards.open[0].id
			if _, err := client.SplitShard(t.Context(), &kinesis.SplitShardInput{
				StreamName: &name, ShardToSplit: &parent, NewStartingHashKey: aws.String(hash{1 << 63, 0}.String()),
			}); err != nil {
				t.Fatal(err)
			}
			if err := kinesis.NewStreamExistsWaiter(client, func(w *kinesis.StreamExistsWaiterOptions) {
				w.MinDelay, w.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
			}).Wait(t.Context(), &kinesis.DescribeStreamInput{StreamName: &name}, 10*time.Second); err != nil {
				t.Fatal(err)
			}
			l.produce(t, s, 2, 20)
			if got, want := l.acknowledged(), len(l.results); got != want {
				t.Errorf("%d of %d acknowledged", got, want)
			}
			if n := len(s.queue.shards.open); n != 2 {
				t.Errorf("%d open shards are known, want 2", n)
			}
			parts, err := s.Partitions(t.Context())
			if err != nil || len(parts) != 3 {
				t.Fatal(parts, err)
			}
			l.hold(t, readOut(t, s, name), 0)
		})
	}
}

// TestTheAPIsOwnThrottlingLosesNothing writes more to two shards than they
// take in the time, so that the API itself throttles.
func TestTheAPIsOwnThrottlingLosesNothing(t *testing.T) {
	t.Parallel()
	limited, err := kinesistest.Start(t.Context(), kinesistest.Options{Program: kinesistest.Ferrokinesis, EnforceLimits: true})
	if whittle.CodeOf(err) == whittle.Unsupported {
		needs.Missing(t, "a Kinesis API that throttles", kinesistest.InstallFerrokinesis)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	if err := limited.CreateStream(t.Context(), "limited", 2); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Stream: "limited", Endpoint: limited.URL, Budget: time.Minute})
	batch := make([]stream.Record, 5000)
	for i := range batch {
		batch[i] = record(fmt.Sprint("k", i%700), fmt.Sprint(i), "a small event")
	}
	began := time.Now()
	for _, r := range s.Append(t.Context(), batch) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	c := s.Counts()
	// Unknown counts attempts that a busy machine left without a response.
	if c.Kept != int64(len(batch)) || c.Refused == 0 {
		t.Errorf("counts %+v", c)
	}
	t.Logf("%d records in %v: %+v", len(batch), time.Since(began).Round(time.Millisecond), c)
}

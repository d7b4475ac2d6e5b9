package kinesis

import (
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
	"whittle/systems/ingest/stream/streamtest"
)

// audit compares a ledger with what the shards hold, those that a resharding closed before
// those that came of them.
func audit(t *testing.T, l *streamtest.Ledger, s *Stream) streamtest.Report {
	t.Helper()
	var all []stream.Entry
	parts := readShards(t, s)
	for _, shard := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, parts[shard]...)
	}
	return l.Audit(t, map[string][]stream.Entry{"": all})
}

func newProxy(t *testing.T, f kinesistest.Faults) *kinesistest.Proxy {
	t.Helper()
	p, err := kinesistest.NewProxy(t.Context(), needAPI(t).URL, 11)
	fatal.If(t, err)
	p.Set(f)
	t.Cleanup(func() { p.Close() })
	return p
}

func TestNothingAcknowledgedIsLostUnderFaults(t *testing.T) {
	t.Parallel()
	name := newStream(t, 3)
	proxy := newProxy(t, kinesistest.Faults{
		Throttle: 0.05, Internal: 0.05, Lost: 0.05, Hang: 0.02, HangKept: 0.02, Cut: 0.05,
		Partial: 0.3, PartialOf: 0.2,
	})
	s := open(t, Options{
		Stream: name, Endpoint: proxy.URL,
		CallTimeout: longer(250 * time.Millisecond), Budget: longer(5 * time.Second),
	})
	l := streamtest.NewLedger(1)
	l.AtLeastOnce = true
	l.During(t, s, 8, time.Minute, func() { l.Reach(t, fewer(800)) })
	fatal.If(t, s.Close(t.Context()))
	injected := proxy.Counts()
	for _, fault := range []string{"partial", "cut", "lost"} {
		if injected[fault] == 0 && !slow() {
			t.Errorf("no %s among the faults: %v", fault, injected)
		}
	}
	t.Log(injected, s.Counts())
	if r := audit(t, l, open(t, Options{Stream: name})); int64(r.Repeated) > s.Counts().Unknown {
		t.Errorf("%d are there again, though only %d attempts had no response", r.Repeated, s.Counts().Unknown)
	}
}

// TestThrottledShardLeavesOthersAlone throttles every record of one shard, and
// sees those of the other acknowledged meanwhile.
func TestThrottledShardLeavesOthersAlone(t *testing.T) {
	name := newStream(t, 2)
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: name, Endpoint: proxy.URL, Budget: time.Minute})
	throttled := func(key string) bool { return md5.Sum([]byte(key))[0] < 0x80 } // the first of two shards
	proxy.Set(kinesistest.Faults{Refuse: throttled})

	var stuck, free []stream.Record
	for i := range 200 {
		r := record(fmt.Sprint("key", i), fmt.Sprint(i), "v")
		if throttled(r.Key) {
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

func TestOutageShowsInCapacityAndEnds(t *testing.T) {
	proxy := newProxy(t, kinesistest.Faults{})
	s := open(t, Options{Stream: newStream(t, 1), Endpoint: proxy.URL})
	proxy.Set(kinesistest.Faults{Internal: 1})
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(t.Context(), []stream.Record{record("k", "", "v")}) }()
	process.Until(t, "an outage that shows", func() bool { return s.Capacity().Err != nil })
	proxy.Set(kinesistest.Faults{})
	if r := <-done; r[0].Err != nil {
		t.Error(r[0].Err)
	}
	if capacity := s.Capacity(); capacity.Err != nil || capacity.Rate <= 0 {
		t.Errorf("after the outage: %+v", capacity)
	}
}

package kinesis

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

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
	p := kinesistest.NewProxy(t, needAPI(t).URL)
	p.Set(f)
	return p
}

// always is a fault of each call.
func always(fault string) kinesistest.Faults {
	return kinesistest.Faults{Shares: map[string]float64{fault: 1}}
}

func TestNothingAcknowledgedIsLostUnderFaults(t *testing.T) {
	t.Parallel()
	name := newStream(t, 3)
	proxy := newProxy(t, kinesistest.Faults{Shares: map[string]float64{
		kinesistest.Throttle: 0.05, kinesistest.Internal: 0.05, kinesistest.Lost: 0.05, kinesistest.Hang: 0.02,
		kinesistest.HangKept: 0.02, kinesistest.Cut: 0.05, kinesistest.Partial: 0.3,
	}})
	s := open(t, Options{
		Stream: name, Endpoint: proxy.URL,
		CallTimeout: longer(250 * time.Millisecond), Budget: longer(5 * time.Second),
	})
	l := streamtest.NewLedger(1)
	l.AtLeastOnce = true
	l.During(t, s, 8, time.Minute, func() { l.Reach(t, fewer(800)) })
	fatal.If(t, s.Close(t.Context()))
	injected := proxy.Counts()
	for _, fault := range []string{kinesistest.Partial, kinesistest.Cut, kinesistest.Lost} {
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
		r := streamtest.Record(fmt.Sprint(i), fmt.Sprint("key", i), "v")
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
		"throttled":       {always(kinesistest.Throttle), whittle.ResourceExhausted},
		"records refused": {kinesistest.Faults{Refuse: func(string) bool { return true }}, whittle.ResourceExhausted},
		"500":             {always(kinesistest.Internal), whittle.DeadlineExceeded},
		"hung":            {always(kinesistest.HangKept), whittle.DeadlineExceeded},
		"cut":             {always(kinesistest.Cut), whittle.DeadlineExceeded},
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
				if err = s.Append(t.Context(), []stream.Record{streamtest.Record("", "k", "v")})[0].Err; whittle.CodeOf(err) == c.want {
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
	proxy.Set(always(kinesistest.Internal))
	done := make(chan []stream.Result, 1)
	go func() { done <- s.Append(t.Context(), []stream.Record{streamtest.Record("", "k", "v")}) }()
	process.Until(t, "an outage that shows", func() bool { return s.Capacity().Err != nil })
	proxy.Set(kinesistest.Faults{})
	if r := <-done; r[0].Err != nil {
		t.Error(r[0].Err)
	}
	if capacity := s.Capacity(); capacity.Err != nil || capacity.Rate <= 0 {
		t.Errorf("after the outage: %+v", capacity)
	}
}

// readShards is what a data stream holds now, by shard, as any consumer reads it. What this
// service did not put is an entry that is not intact.
func readShards(t testing.TB, of stream.Stream) map[string][]stream.Entry {
	t.Helper()
	s := of.(*Stream)
	ctx, cancel := context.WithTimeout(t.Context(), longer(time.Minute))
	defer cancel()
	client, end := needAPI(t).Client()
	defer end()
	shards, err := client.ListShards(ctx, &kinesis.ListShardsInput{StreamName: &s.o.Stream})
	fatal.If(t, err)
	all := map[string][]stream.Entry{}
	for _, sh := range shards.Shards {
		id := aws.ToString(sh.ShardId)
		at, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
			StreamName: &s.o.Stream, ShardId: &id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		fatal.If(t, err)
		for next := at.ShardIterator; next != nil; {
			out, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: next})
			fatal.If(t, err)
			for _, r := range out.Records {
				e := stream.Entry{Position: stream.Position{Partition: id, Offset: aws.ToString(r.SequenceNumber)}}
				if s.o.Raw {
					e.Record = stream.Record{Key: aws.ToString(r.PartitionKey), Time: aws.ToTime(r.ApproximateArrivalTimestamp), Value: r.Data}
					e.Seal()
				} else {
					e.Record = parseData(r.Data)
				}
				all[id] = append(all[id], e)
			}
			if next = out.NextShardIterator; len(out.Records) == 0 && aws.ToInt64(out.MillisBehindLatest) == 0 {
				break
			}
		}
	}
	return all
}

type envelope struct {
	Version int              `json:"v"`
	ID      textOrBytes      `json:"id"`
	Key     textOrBytes      `json:"key"`
	Time    time.Time        `json:"time"`
	Headers [][2]textOrBytes `json:"headers"`
	Sum     string           `json:"sum"`
	Event   json.RawMessage  `json:"event"`
	Text    *string          `json:"text"`
	Base64  *string          `json:"base64"`
}

// textOrBytes is a string, or {"base64": "…"}.
type textOrBytes string

func (s *textOrBytes) UnmarshalJSON(b []byte) error {
	var coded struct{ Base64 []byte }
	if json.Unmarshal(b, &coded) == nil {
		*s = textOrBytes(coded.Base64)
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

// parseData reads an envelope. What is none is a record that is not intact.
func parseData(data []byte) stream.Record {
	var e envelope
	err := json.Unmarshal(data, &e)
	sum, err2 := strconv.ParseUint(e.Sum, 16, 32)
	r := stream.Record{ID: string(e.ID), Key: string(e.Key), Time: e.Time.UTC(), Value: e.Event, Sum: uint32(sum)}
	for _, h := range e.Headers {
		r.Header = append(r.Header, stream.Header{Name: string(h[0]), Value: string(h[1])})
	}
	var err3 error
	switch {
	case e.Event != nil:
	case e.Text != nil:
		r.Value = []byte(*e.Text)
	case e.Base64 != nil:
		r.Value, err3 = base64.StdEncoding.DecodeString(*e.Base64)
	default:
		err3 = errors.New("no value")
	}
	if errors.Join(err, err2, err3) != nil {
		return stream.Record{Sum: 1}
	}
	return r
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

func sealed(id, key, value string) stream.Record {
	r := stream.Record{ID: id, Key: key, Time: time.Unix(1700000000, 123456789).UTC(), Value: []byte(value)}
	r.Seal()
	return r
}

// readAll reads every record that the partitions hold now.
func readAll(t *testing.T, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	parts, err := s.Partitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]stream.Entry{}
	for _, p := range parts {
		if p.First == p.Next {
			continue
		}
		r, err := s.Read(ctx, p.First)
		if err != nil {
			t.Fatal(err)
		}
		var last stream.Position
		into := make([]stream.Entry, 64)
		for next(last) != p.Next.Offset {
			n, err := r.Next(ctx, into)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range into[:n] {
				e.Value = append([]byte(nil), e.Value...)
				all[p.Name] = append(all[p.Name], e)
				last = e.Position
			}
		}
		r.Close()
	}
	return all
}

func next(p stream.Position) string {
	var n int64
	if _, err := fmt.Sscan(p.Offset, &n); err != nil {
		return ""
	}
	return fmt.Sprint(n + 1)
}

func TestKeepsRecords(t *testing.T) {
	l := openAt(t, Options{Brokers: []string{realBroker(t).Address()}})
	var want []stream.Record
	for i := range 500 {
		r := sealed(fmt.Sprintf("id-%d", i), fmt.Sprintf("user-%d", i%7), strings.Repeat("v", i))
		if i%5 == 0 {
			r.Key = ""
		}
		r.Header = []stream.Header{{Name: "whittle-id", Value: "a client's own"}, {Name: "", Value: ""}}
		want = append(want, r)
	}
	byID := map[string]stream.Record{}
	where := map[string]stream.Position{}
	for i, r := range l.Append(t.Context(), want) {
		if r.Err != nil {
			t.Fatal(i, r.Err)
		}
		byID[want[i].ID], where[want[i].ID] = want[i], r.Position
	}
	count := 0
	for _, entries := range readAll(t, l) {
		for _, e := range entries {
			count++
			w := byID[e.ID]
			if e.Position != where[e.ID] || e.Key != w.Key || !e.Time.Equal(w.Time) || string(e.Value) != string(w.Value) ||
				e.Sum != w.Sum || fmt.Sprint(e.Header) != fmt.Sprint(w.Header) {
				t.Fatalf("read %+v, appended %+v at %v", e, w, where[e.ID])
			}
		}
	}
	if count != len(want) {
		t.Fatalf("%d records read, %d appended", count, len(want))
	}
}

func TestOpenRefuses(t *testing.T) {
	address := []string{realBroker(t).Address()}
	compacted := topicFor(t)
	makeTopic(t, address, compacted, 1)
	alter(t, address, compacted, "cleanup.policy", "compact")
	for name, c := range map[string]struct {
		o    Options
		code whittle.Code
	}{
		"no broker named":  {Options{Topic: "t"}, whittle.Invalid},
		"no topic named":   {Options{Brokers: address}, whittle.Invalid},
		"no such topic":    {Options{Brokers: address, Topic: "nowhere"}, whittle.NotFound},
		"compacted topic":  {Options{Brokers: address, Topic: compacted}, whittle.FailedPrecondition},
		"unknown SASL":     {Options{Brokers: address, Topic: "t", SASL: SASL{Mechanism: "gssapi"}}, whittle.Invalid},
		"negative timeout": {Options{Brokers: address, Topic: "t", DeliveryTimeout: -1}, whittle.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), c.o); whittle.CodeOf(err) != c.code || err == nil {
				t.Fatalf("%v (%v), want %v", err, whittle.CodeOf(err), c.code)
			}
		})
	}
}

func TestOpenCreates(t *testing.T) {
	o := Options{Brokers: []string{realBroker(t).Address()}, Topic: topicFor(t), Create: &Create{}}
	for range 2 { // the second time it is there
		l, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if parts, err := l.Partitions(t.Context()); len(parts) != defaultPartitions || err != nil {
			t.Errorf("%v, %v", parts, err)
		}
		if r := l.Append(t.Context(), []stream.Record{sealed("", "", "v")}); r[0].Err != nil {
			t.Error(r[0].Err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	l := openAt(t, Options{Brokers: []string{realBroker(t).Address()}})
	largest := sealed("", "k", "")
	largest.Value = make([]byte, l.Limit()-stream.EncodedLen(&largest))
	largest.Seal()
	over := largest
	over.Value = make([]byte, len(largest.Value)+1)
	over.Seal()
	got := l.Append(t.Context(), []stream.Record{largest, over, sealed("", "k", "behind it"), sealed("", "other", "free")})
	for i, want := range []whittle.Code{-1, whittle.Invalid, whittle.Unavailable, -1} {
		if (got[i].Err == nil) != (want == -1) || got[i].Err != nil && whittle.CodeOf(got[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i, got[i].Err, want)
		}
	}
}

// A topic that takes less than it did at Open refuses whole batches; only the
// record that is too large may suffer.
func TestTopicTakesLess(t *testing.T) {
	address := []string{realBroker(t).Address()}
	topic := topicFor(t)
	l := openAt(t, Options{Brokers: address, Topic: topic, Create: &Create{Partitions: 1}})
	alter(t, address, topic, "max.message.bytes", "5000")
	for deadline := time.Now().Add(10 * time.Second); ; { // the log itself learns of it a little later
		if r := l.Append(t.Context(), []stream.Record{sealed("before", "", random(20_000))}); whittle.CodeOf(r[0].Err) == whittle.Invalid {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the setting has no effect")
		}
	}
	records := []stream.Record{
		sealed("1", "a", "small"), sealed("2", "b", random(20_000)),
		sealed("3", "b", "behind the large one"), sealed("4", "a", "small too"),
	}
	got := l.Append(t.Context(), records)
	for i, want := range []whittle.Code{-1, whittle.Invalid, whittle.Unavailable, -1} {
		if (got[i].Err == nil) != (want == -1) || got[i].Err != nil && whittle.CodeOf(got[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i, got[i].Err, want)
		}
	}
	var ids []string
	for _, e := range readAll(t, l)["0"] {
		if e.ID != "before" {
			ids = append(ids, e.ID)
		}
	}
	if fmt.Sprint(ids) != "[1 4]" {
		t.Errorf("kept %v", ids)
	}
}

func TestTrim(t *testing.T) {
	l := openAt(t, Options{Brokers: []string{realBroker(t).Address()}, Create: &Create{Partitions: 1}})
	var records []stream.Record
	for i := range 10 {
		records = append(records, sealed(fmt.Sprint(i), "k", "v"))
	}
	results := l.Append(t.Context(), records)
	running, err := l.Read(t.Context(), stream.Position{Partition: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := l.Trim(t.Context(), results[6].Position); err != nil {
		t.Fatal(err)
	}
	parts, err := l.Partitions(t.Context())
	if err != nil || parts[0].First != results[6].Position {
		t.Fatalf("%+v %v", parts, err)
	}
	r, err := l.Read(t.Context(), results[2].Position)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, r := range []stream.Reader{r, running} {
		into := make([]stream.Entry, 1)
		for range 20 { // the running one may have fetched before the trim
			if _, err := r.Next(t.Context(), into); err != nil {
				t.Fatal(err)
			}
			if into[0].ID >= "6" {
				break
			}
		}
		if into[0].ID != "6" {
			t.Errorf("read %q first behind the trim", into[0].ID)
		}
	}
	if err := l.Trim(t.Context(), stream.Position{Partition: "0", Offset: "11"}); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("trim behind the end: %v", err)
	}
	if _, err := l.Read(t.Context(), stream.Position{Partition: "0", Offset: "11"}); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("a position behind the end: %v", err)
	}
}

func TestForeignRecordIsCorrupt(t *testing.T) {
	address := []string{realBroker(t).Address()}
	topic := topicFor(t)
	l := openAt(t, Options{Brokers: address, Topic: topic, Create: &Create{Partitions: 1}})
	produce(t, address, topic, "not ours")
	if r := l.Append(t.Context(), []stream.Record{sealed("mine", "", "v")}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	r, err := l.Read(t.Context(), stream.Position{Partition: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 8)
	_, err = r.Next(t.Context(), into)
	if c, ok := errors.AsType[*stream.CorruptError](err); !ok || c.Position.Offset != "0" {
		t.Fatalf("%v", err)
	}
	if n, err := r.Next(t.Context(), into); n != 1 || err != nil || into[0].ID != "mine" {
		t.Fatalf("%d %v %q", n, err, into[0].ID)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	l := openAt(t, Options{Brokers: []string{realBroker(t).Address()}})
	r, err := l.Read(t.Context(), stream.Position{Partition: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx, make([]stream.Entry, 1)); whittle.CodeOf(err) != whittle.DeadlineExceeded {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	l := openAt(t, Options{Brokers: []string{realBroker(t).Address()}})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := l.Append(t.Context(), []stream.Record{sealed("", "", "v")}); whittle.CodeOf(r[0].Err) != whittle.Unavailable {
		t.Fatal(r[0].Err)
	}
}

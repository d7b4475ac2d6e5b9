package kafka

import (
	"fmt"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

func sealed(id, key, value string) stream.Record {
	r := stream.Record{ID: id, Key: key, Time: time.Unix(1700000000, 123456789).UTC(), Value: []byte(value)}
	r.Seal()
	return r
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
		fatal.If(t, err)
		if n := l.traits.partitions; n != defaultPartitions {
			t.Errorf("%d partitions", n)
		}
		if r := l.Append(t.Context(), []stream.Record{sealed("", "", "v")}); r[0].Err != nil {
			t.Error(r[0].Err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
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

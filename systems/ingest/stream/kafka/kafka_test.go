package kafka

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka/kafkatest"
	"whittle/systems/ingest/stream/streamtest"
)

func TestOpenRefuses(t *testing.T) {
	address := []string{kafkatest.Start(t).Address}
	compacted := openAt(t, Options{Brokers: address}).o.Topic
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
	o := Options{Brokers: []string{kafkatest.Start(t).Address}, Topic: "t-" + rand.Text(), Create: &Create{}}
	for range 2 { // the second time it is there
		l, err := Open(t.Context(), o)
		fatal.If(t, err)
		fatal.Same(t, l.traits.partitions, defaultPartitions, "partitions")
		if r := l.Append(t.Context(), []stream.Record{streamtest.Record("", "", "v")}); r[0].Err != nil {
			t.Error(r[0].Err)
		}
		fatal.If(t, l.Close(t.Context()))
	}
}

// A topic that takes less than it did at Open refuses whole batches; only the
// record that is too large may suffer.
func TestTopicTakesLess(t *testing.T) {
	address := []string{kafkatest.Start(t).Address}
	l := openAt(t, Options{Brokers: address, Create: &Create{Partitions: 1}})
	alter(t, address, l.o.Topic, "max.message.bytes", "5000")
	process.Until(t, "the log itself learns of it", func() bool {
		r := l.Append(t.Context(), []stream.Record{streamtest.Record("before", "", random(20_000))})
		return whittle.CodeOf(r[0].Err) == whittle.Invalid
	})
	records := []stream.Record{
		streamtest.Record("1", "a", "small"), streamtest.Record("2", "b", random(20_000)),
		streamtest.Record("3", "b", "behind the large one"), streamtest.Record("4", "a", "small too"),
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
	fatal.Same(t, fmt.Sprint(ids), "[1 4]", "kept")
}

// random is n bytes that do not compress.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return string(b)
}

// alter changes a topic's setting and waits until the broker tells of it.
func alter(t *testing.T, brokers []string, topic, key, value string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(10*time.Millisecond))
	fatal.If(t, err)
	defer c.Close()
	admin := kadm.NewClient(c)
	response, err := admin.AlterTopicConfigs(t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err == nil {
		_, err = response.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for got := ""; err == nil && got != value; {
		var settings map[string]string
		settings, err = settingsOf(ctx, admin, topic)
		got = settings[key]
	}
	fatal.If(t, err)
}

// The broker is killed twice while producers are at work, the second time after
// it stood still for a while with requests on their way. A short run has the second only.
func TestBrokerKilled(t *testing.T) {
	broker := kafkatest.Start(t)
	l := openAt(t, Options{Brokers: []string{broker.Address}, Create: &Create{Partitions: 6}, DeliveryTimeout: 20 * time.Second})
	book := streamtest.NewLedger(1)
	book.During(t, l, 8, 20*time.Second, func() {
		for _, pause := range []bool{false, true} {
			if !pause && testing.Short() {
				continue
			}
			book.Reach(t, 500)
			if pause {
				fatal.If(t, broker.Pause())
			}
			broker.Kill()
			broker.Restart(t)
		}
		book.Reach(t, 500)
	})
	book.Audit(t, readAll(t, l))
}

// TestConformance holds a topic of a real broker to what every stream must do.
func TestConformance(t *testing.T) {
	address := []string{kafkatest.Start(t).Address}
	streamtest.Run(t, streamtest.Suite{
		Open: func(t *testing.T) stream.Stream { return openAt(t, Options{Brokers: address}) },
		Reopen: func(t *testing.T, closed stream.Stream) stream.Stream {
			return openAt(t, Options{Brokers: address, Topic: closed.(*Log).o.Topic})
		},
		Read: readAll,
	})
}

// readAll is what the topic of a Log holds now, by partition, as any consumer reads it. What
// this service did not append is an entry that is not intact.
func readAll(t testing.TB, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	o := s.(*Log).o
	all := map[string][]stream.Entry{}
	for _, k := range kafkatest.Records(t, o.Topic, o.Brokers...) {
		name := strconv.Itoa(int(k.Partition))
		all[name] = append(all[name], stream.Entry{Record: fromKafka(k), Position: position(k.Partition, k.Offset)})
	}
	return all
}

// fromKafka is toKafka's inverse. The record's Value is the Kafka record's.
func fromKafka(k *kgo.Record) stream.Record {
	foreign := stream.Record{Sum: 1}
	if len(k.Headers) < reserved || k.Headers[0].Key != headerSum || k.Headers[1].Key != headerTime || k.Headers[2].Key != headerID {
		return foreign
	}
	sum, err := hex.DecodeString(string(k.Headers[0].Value))
	nanos, err2 := strconv.ParseInt(string(k.Headers[1].Value), 10, 64)
	if err != nil || err2 != nil || len(sum) != 4 {
		return foreign
	}
	r := stream.Record{
		ID: string(k.Headers[2].Value), Key: string(k.Key), Time: time.Unix(0, nanos).UTC(), Value: k.Value, Sum: binary.BigEndian.Uint32(sum),
	}
	for _, h := range k.Headers[reserved:] {
		r.Header = append(r.Header, stream.Header{Name: h.Key, Value: string(h.Value)})
	}
	return r
}

func TestMain(m *testing.M) { process.Main(m, func() error { return nil }, kafkatest.Close) }

// openAt opens a stream, closed with the test, on a topic of the test's own where none is named.
func openAt(t *testing.T, o Options) *Log {
	t.Helper()
	if o.Topic == "" {
		o.Topic = "t-" + rand.Text()
		o.Create = cmp.Or(o.Create, &Create{Partitions: 3})
	}
	l, err := Open(t.Context(), o)
	fatal.If(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		l.Close(ctx)
	})
	return l
}

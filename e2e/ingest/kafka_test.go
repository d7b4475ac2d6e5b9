package ingest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka/kafkatest"
	"whittle/systems/ingest/stream/streamtest"
)

// shared is the one real broker of this room, started by the first test that asks for
// it. Each test has a topic of its own; one that kills the broker starts it again.
var shared *kafkatest.Broker

// broker is a real Apache Kafka, or says loudly that nothing was tested.
func broker(t testing.TB) *kafkatest.Broker {
	t.Helper()
	if kafkatest.Missing() != nil {
		needs.Missing(t, "a real Apache Kafka", kafkatest.Install)
	}
	if shared == nil {
		b, err := kafkatest.Start(context.WithoutCancel(t.Context()))
		fatal.If(t, err)
		shared = b
	}
	t.Cleanup(func() {
		if t.Failed() { // who knows in what state
			closeBroker()
		}
	})
	return shared
}

func closeBroker() {
	if shared != nil {
		_ = shared.Close() // what it holds is a test's
		shared = nil
	}
}

// TestLogFirstOverABrokerThatIsKilled responds from the local log while Kafka is
// killed with -9 and started again. No producer sees anything but success, and
// Kafka then holds every event. From its return until the backlog is gone, three
// times as many events reach it as come in.
func TestLogFirstOverABrokerThatIsKilled(t *testing.T) {
	const backlog = 20_000
	b := broker(t)
	s := serve(t, t.TempDir(), "--log-first", filepath.Join(t.TempDir(), "first"),
		"--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "first", "--kafka-create")
	l := streamtest.NewLedger(1)
	l.AtLeastOnce, l.Unordered = true, true
	h := newOverHTTP(t, func() string { return s.public })
	l.During(t, h, 4, time.Minute, func() {
		l.Reach(t, 200)
		process.Until(t, "the drain began", func() bool { _, drained := s.drained(); return drained > 100 })
		b.Kill()
		l.Reach(t, 500)
		h.paced.Store(true) // for as long as a broker takes to start
		for n := range backlog / 500 {
			batch(t, s, n, 500)
		}
		fatal.If(t, b.Restart(t.Context()))
		h.paced.Store(false)
		s.catchesUp(t, backlog)
		l.Reach(t, 200)
	})
	process.Until(t, "all is drained", func() bool { return s.figure("ingest_drain_lag_events") == 0 })
	if refused := h.refused.Load(); refused > 0 {
		t.Errorf("%d requests were refused while the broker was away", refused)
	}
	s.Kill()
	var ours []stream.Entry
	for _, k := range records(t, b.Address(), "first") {
		id := ""
		for _, h := range k.Headers {
			if h.Key == "whittle-id" {
				id = string(h.Value)
			}
		}
		if len(k.Key) == 0 && id != "" { // not of a batch
			e := stream.Entry{Record: stream.Record{ID: id, Value: k.Value}}
			e.Seal()
			ours = append(ours, e)
		}
	}
	r := l.Audit(t, map[string][]stream.Entry{"": ours})
	t.Logf("AUDIT log first over Kafka, broker killed and restarted: %v", r)
}

// records are all of a topic, as any consumer reads them.
func records(t *testing.T, broker, topic string) (all []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), topic)
	fatal.If(t, err)
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for int64(len(all)) < left {
		got := client.PollFetches(ctx)
		if err := got.Err0(); err != nil {
			t.Fatalf("%d of %d records of %s: %v", len(all), left, topic, err)
		}
		all = append(all, got.Records()...)
	}
	return all
}

// drained is how many events are in the log, and how many of them in the sink.
func (s *service) drained() (logged, drained float64) {
	f := process.Metrics(s.Admin)
	return f["ingest_log_records_total"], f["ingest_log_records_total"] - f["ingest_drain_lag_events"]
}

// catchesUp waits until of a backlog one hundredth is left, and holds the drain to
// three times what comes in meanwhile.
func (s *service) catchesUp(t *testing.T, backlog float64) {
	t.Helper()
	logged, drained := s.drained()
	if logged-drained < backlog {
		t.Fatalf("%.0f events wait for a broker that is dead, of %.0f", logged-drained, backlog)
	}
	var nowLogged, nowDrained float64
	process.Until(t, "the drain caught up", func() bool {
		nowLogged, nowDrained = s.drained()
		if nowDrained == drained { // it has not begun
			logged = nowLogged
		}
		return nowLogged-nowDrained < backlog/100
	})
	in, out := nowLogged-logged, nowDrained-drained
	if in == 0 || out < 3*in {
		t.Errorf("%.0f events came in while %.0f were drained", in, out)
	}
	t.Logf("AUDIT catching up with Kafka: %.0f events drained while %.0f came in", out, in)
}

// batch sends events of many users at once.
func batch(t *testing.T, s *service, n, events int) {
	t.Helper()
	all := make([]string, events)
	for i := range all {
		all[i] = fmt.Sprintf(`{"type":"track","event":"e","userId":"user%d","messageId":"b%d-%d"}`, i, n, i)
	}
	r, err := http.Post(s.public+"/v1/batch", "application/json", strings.NewReader(`{"batch":[`+strings.Join(all, ",")+`]}`))
	fatal.If(t, err)
	defer r.Body.Close()
	if said, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", r.StatusCode, said, err)
	}
}

// TestStraightToKafka is acknowledged when all of Kafka's replicas have the event.
func TestStraightToKafka(t *testing.T) {
	b := broker(t)
	s := serve(t, t.TempDir(), "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "straight", "--kafka-create")
	a, err := post(t.Context(), http.DefaultClient, s.public, "one", "the one")
	if err != nil || a.code != http.StatusOK || a.Durability != "kafka-all" {
		t.Errorf("%+v, %v", a, err)
	}
	if all := records(t, b.Address(), "straight"); len(all) != 1 || string(all[0].Value) != "the one" {
		t.Errorf("Kafka holds %v", all)
	}
}

package ingest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka/kafkatest"
	"whittle/systems/ingest/stream/streamtest"
)

// TestLogFirstOverABrokerThatIsKilled responds from the local log while Kafka is
// killed with -9 and started again. No producer sees anything but success, and
// Kafka then holds every event. From its return until the backlog is gone, three
// times as many events reach it as come in.
func TestLogFirstOverABrokerThatIsKilled(t *testing.T) {
	const backlog = 20_000
	b := kafkatest.Start(t)
	s := serve(t, t.TempDir(), "--log-first", filepath.Join(t.TempDir(), "first"),
		"--sink", "kafka", "--kafka-brokers", b.Address, "--kafka-topic", "first", "--kafka-create")
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
		b.Restart(t)
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
	for _, k := range kafkatest.Records(t, "first", b.Address) {
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
	t.Logf("AUDIT log first over Kafka, broker killed and restarted: %+v", r)
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
	body := `{"batch":[` + strings.Join(all, ",") + `]}`
	if r, said := process.Ask(t, http.MethodPost, s.public+"/v1/batch", body, "Content-Type: application/json"); r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, said)
	}
}

// TestStraightToKafka is acknowledged when all of Kafka's replicas have the event.
func TestStraightToKafka(t *testing.T) {
	b := kafkatest.Start(t)
	s := serve(t, t.TempDir(), "--sink", "kafka", "--kafka-brokers", b.Address, "--kafka-topic", "straight", "--kafka-create")
	a, err := post(t.Context(), http.DefaultClient, s.public, "one", "the one")
	if err != nil || a.code != http.StatusOK || a.Durability != "kafka-all" {
		t.Errorf("%+v, %v", a, err)
	}
	if all := kafkatest.Records(t, "straight", b.Address); len(all) != 1 || string(all[0].Value) != "the one" {
		t.Errorf("Kafka holds %v", all)
	}
}

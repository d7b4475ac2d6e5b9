package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"whittle/internal/needs"
	"whittle/systems/ingest/stream/kafka/kafkatest"
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
		b, err := kafkatest.Start(context.WithoutCancel(t.Context()), kafkatest.Options{})
		if err != nil {
			t.Fatal(err)
		}
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

// run returns what one of the binary's verbs prints.
func run(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, argv...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", argv[0], err, &out, &said)
	}
	return out.String(), err
}

// figures reads metrics without labels, all at one moment.
func (s *service) figures() map[string]float64 {
	r, err := http.Get(s.admin + "/metrics")
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, " ")
		if v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
			all[name] = v
		}
	}
	return all
}

// figure reads one; -1 where it is not there.
func (s *service) figure(name string) float64 {
	if v, ok := s.figures()[name]; ok {
		return v
	}
	return -1
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
	l := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for p := range 4 {
		all.Go(func() { l.produce(ctx, func() string { return s.public }, 0, p) })
	}
	more := func(n int64) {
		t.Helper()
		from := l.acknowledged.Load()
		within(t, "producers go on", func() bool { return l.acknowledged.Load() >= from+n })
	}
	more(200)
	within(t, "the drain began", func() bool { _, drained := s.drained(); return drained > 100 })
	b.Kill()
	more(500)
	l.paced.Store(true) // for as long as a broker takes to start
	for n := range backlog / 500 {
		batch(t, s, n, 500)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.paced.Store(false)
	s.catchesUp(t, backlog)
	more(200)
	cancel()
	all.Wait()
	within(t, "all is drained", func() bool { return s.figure("ingest_drain_lag_events") == 0 })
	// A post that was cut off at the end is broken off by its client.
	if refused := l.refused.Load(); refused > 0 {
		t.Errorf("%d requests were refused while the broker was away", refused)
	}
	s.kill()

	out, err := run(t, "tail", "--env-file", "", "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "first", "-n", "1000000", "--values")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(out) {
		times[strings.TrimSuffix(line, "\n")]++
	}
	lost, doubled := 0, 0
	for id := range l.kept {
		switch n := times[body(id)]; {
		case n == 0:
			lost++
			t.Errorf("LOST: %s", id)
		case n > 1:
			doubled++
		}
	}
	t.Logf("AUDIT log first over Kafka, broker killed and restarted: %d acknowledged, %d refused, %d lost, %d doubled in the sink", len(l.kept), l.refused.Load(), lost, doubled)
}

// drained is how many events are in the log, and how many of them in the sink.
func (s *service) drained() (logged, drained float64) {
	f := s.figures()
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
	within(t, "the drain caught up", func() bool {
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
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if said, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", r.StatusCode, said, err)
	}
}

// TestMoveToKafka moves an embedded log to Kafka, sends the move a -9 once
// something has arrived, which may be near its end, and runs it again: both
// sides count and hash the same.
func TestMoveToKafka(t *testing.T) {
	const events = 30_000
	b := broker(t)
	data := filled(t, events)
	argv := []string{
		"move", "--env-file", "", "--data", data, "--state", filepath.Join(t.TempDir(), "state"),
		"--to-sink", "kafka", "--to-kafka-brokers", b.Address(), "--to-kafka-topic", "moved", "--to-kafka-create",
	}
	first := exec.CommandContext(t.Context(), binary, argv...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, "something has been moved", func() bool {
		out, err := run(t, "tail", "--env-file", "", "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "moved", "-n", "1")
		return err == nil && out != ""
	})
	_ = first.Process.Kill()
	_ = first.Wait()

	out, err := run(t, argv...)
	if err != nil {
		t.Fatal(err)
	}
	moved(t, out, events)
	t.Logf("AUDIT move to Kafka, run again after a -9:\n%s", out)
}

// TestStraightToKafka is acknowledged when all of Kafka's replicas have the event.
func TestStraightToKafka(t *testing.T) {
	b := broker(t)
	s := serve(t, t.TempDir(), "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "straight", "--kafka-create")
	a, err := post(t.Context(), http.DefaultClient, s.public, "one", body("one"))
	if err != nil || a.code != http.StatusOK || a.Durability != "kafka-all" {
		t.Errorf("%+v, %v", a, err)
	}
	out, err := run(t, "tail", "--env-file", "", "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "straight", "-n", "10", "--values")
	if err != nil || out != body("one")+"\n" {
		t.Errorf("Kafka holds %q (%v)", out, err)
	}
}

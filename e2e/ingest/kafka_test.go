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

	"whittle/stream/kafka/kafkatest"
)

// broker starts a real Apache Kafka, or says loudly that nothing was tested.
func broker(t *testing.T) *kafkatest.Broker {
	t.Helper()
	if err := kafkatest.Missing(); err != nil {
		t.Skipf("NOT TESTED against Apache Kafka: %v", err)
	}
	b, err := kafkatest.Start(t.Context(), kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run gives what one of the binary's verbs prints.
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

// figure reads a metric without labels; -1 where it is not there.
func (s *service) figure(name string) float64 {
	r, err := http.Get(s.admin + "/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

// TestLogFirstOverABrokerThatIsKilled answers from the local log while Kafka is
// killed with -9 and started again. No producer sees anything but success, and
// Kafka then holds every event.
func TestLogFirstOverABrokerThatIsKilled(t *testing.T) {
	b := broker(t)
	s := serve(t, t.TempDir(), "--log-first", filepath.Join(t.TempDir(), "first"),
		"--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "events", "--kafka-create")
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
	within(t, "the drain began", func() bool { return s.figure("ingest_log_bytes") > 0 && s.figure("ingest_drain_lag_events") >= 0 })
	b.Kill()
	more(500)
	if lag := s.figure("ingest_drain_lag_events"); lag < 100 {
		t.Errorf("the drain is %v events behind a broker that is dead", lag)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	more(200)
	cancel()
	all.Wait()
	within(t, "the drain caught up", func() bool { return s.figure("ingest_drain_lag_events") == 0 })
	// A post that was cut off at the end is broken off by its client.
	if refused := l.refused.Load(); refused > 0 {
		t.Errorf("%d requests were refused while the broker was away", refused)
	}
	s.kill()

	out, err := run(t, "tail", "--env-file", "", "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "events", "-n", "1000000", "--values")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(out) {
		times[strings.TrimSuffix(line, "\n")]++
	}
	doubled := 0
	for id := range l.kept {
		switch n := times[body(id)]; {
		case n == 0:
			t.Errorf("LOST: %s", id)
		case n > 1:
			doubled++
		}
	}
	t.Logf("AUDIT log first over Kafka, broker killed and restarted: %d acknowledged, %d refused, %d doubled in the sink", len(l.kept), l.refused.Load(), doubled)
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

// TestStraightToKafka is answered when all of Kafka's replicas have the event.
func TestStraightToKafka(t *testing.T) {
	b := broker(t)
	s := serve(t, t.TempDir(), "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "events", "--kafka-create")
	a, err := post(t.Context(), http.DefaultClient, s.public, "one", body("one"))
	if err != nil || a.code != http.StatusOK || a.Durability != "kafka-all" {
		t.Errorf("%+v, %v", a, err)
	}
	out, err := run(t, "tail", "--env-file", "", "--sink", "kafka", "--kafka-brokers", b.Address(), "--kafka-topic", "events", "-n", "10", "--values")
	if err != nil || out != body("one")+"\n" {
		t.Errorf("Kafka holds %q (%v)", out, err)
	}
}

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
	"whittle/whittletest"
)

// TestAStreamThatNobodyChose: what the environment has of another stream is said to do
// nothing, unless somebody chose the embedded log.
func TestAStreamThatNobodyChose(t *testing.T) {
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{env: []string{"KAFKA_BROKERS=127.0.0.1:1"}, want: "KAFKA_BROKERS is set and not used"},
		{env: []string{"STREAM_NAME=clicks"}, want: "KINESIS_STREAM or STREAM_NAME is set and not used"},
		{env: []string{"NATS_URL=nats://127.0.0.1:1"}, want: "NATS_URL is set and not used"},
		{env: []string{"KAFKA_BROKERS=127.0.0.1:1", "INGEST_SINK=embedded"}},
		{env: []string{"KAFKA_BROKERS=127.0.0.1:1"}, args: []string{"--sink", "embedded"}},
		{env: []string{"KAFKA_TOPIC=t", "AWS_REGION=eu-west-1"}},
	} {
		p := start(t, t.TempDir(), c.env, append([]string{"--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0"}, c.args...)...)
		p.End(t)
		if got := p.Said(); !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "is set and not used") {
			t.Errorf("%v %v: want %q in\n%s", c.env, c.args, c.want, got)
		}
	}
}

// TestLogFirst responds for the local disk and drains to JetStream, over a restart, with
// what the log held before it had a sink.
func TestLogFirst(t *testing.T) {
	dir := t.TempDir()
	before := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--data", "first/log")
	if a, err := post(http.DefaultClient, before.public+"/v1/track", "", "application/json", `{"userId":"u","event":"e","messageId":"m-8"}`); err != nil || a.code != 200 {
		t.Errorf("%+v, %v", a, err)
	}
	before.End(t)
	url := natstest.JetStream(t)
	args := []string{
		"--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0",
		"--sink", "nats", "--nats-url", url, "--nats-create", "--log-first", "first",
	}
	for run := range 2 {
		p := start(t, dir, nil, args...)
		for i := range 5 {
			body := fmt.Sprintf(`{"userId":"u","event":"e","messageId":"m-%d"}`, run*3+i)
			a, err := post(http.DefaultClient, p.public+"/v1/track", "", "application/json", body)
			want := "accepted"
			if run == 1 && i < 2 {
				want = "duplicate"
			}
			if err != nil || a.code != 200 || a.Status != want || a.Durability != "local-fsync" {
				t.Errorf("run %d, event %d: %+v, %v", run, i, a, err)
			}
		}
		process.Until(t, "the sink has it all", func() bool {
			lag, ok := process.Metrics(p.Admin)["ingest_drain_lag_events"]
			return ok && lag == 0
		})
		p.End(t)
	}
	out := strings.Join(published(t, url), "\n")
	for i := range 9 {
		fatal.Same(t, strings.Count(out, fmt.Sprintf(`"messageId":"m-%d"`, i)), 1, "m-%d in the sink\n%s", i, out)
	}
}

// TestLogFirstWithoutItsSink starts, is ready and responds while the sink cannot
// be reached.
func TestLogFirstWithoutItsSink(t *testing.T) {
	nobody, err := unused()
	fatal.If(t, err)
	p := start(t, t.TempDir(), nil,
		"--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0",
		"--sink", "nats", "--nats-url", "nats://"+nobody, "--log-first", "first")
	a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", "x")
	if err != nil || a.code != 200 || a.Durability != "local-fsync" {
		t.Errorf("%+v, %v", a, err)
	}
	if res, text := process.Ask(t, http.MethodGet, p.admin+"/ready", ""); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	process.Until(t, "the drain says that it is behind and fails", func() bool {
		return process.Metrics(p.Admin)["ingest_drain_lag_events"] == 1 && process.Metrics(p.Admin)["ingest_drain_troubles"] > 0
	})
	p.Kill() // ended in order it would wait for the sink for a while
}

// TestStraightToASink responds for what the sink reached.
func TestStraightToASink(t *testing.T) {
	url := natstest.JetStream(t)
	p := start(t, t.TempDir(), nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--sink", "nats", "--nats-url", url, "--nats-create")
	a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", "hello")
	if err != nil || a.code != 200 || a.Durability != "jetstream" {
		t.Errorf("%+v, %v", a, err)
	}
	p.End(t)
	fatal.Same(t, published(t, url), []string{"hello"}, "the sink holds")
}

// published are the values of a server's stream, read by NATS's own client.
func published(t *testing.T, url string) (values []string) {
	t.Helper()
	conn, err := client.Connect(url)
	fatal.If(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	fatal.If(t, err)
	events, err := js.Stream(t.Context(), "EVENTS")
	fatal.If(t, err)
	info, err := events.Info(t.Context())
	fatal.If(t, err)
	for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
		m, err := events.GetMsg(t.Context(), n)
		fatal.If(t, err)
		values = append(values, string(m.Data))
	}
	return values
}

// TestAStreamThatTakesLessThanClientsMaySend is warned of, and one that takes nothing
// is refused.
func TestAStreamThatTakesLessThanClientsMaySend(t *testing.T) {
	for takes, want := range map[int]string{1 << 20: "", 32 << 10: "", 900: "takes less than --max-event", 0: "takes no event at all", -48: "takes no event at all"} {
		var said bytes.Buffer
		v := serveVerb{limitFlags: limitFlags{MaxEvent: 32 << 10}}
		if err := v.warnOfLimit(slog.New(slog.NewTextHandler(&said, nil)), takes); err != nil {
			said.WriteString(err.Error())
		}
		if !strings.Contains(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%d bytes: %q", takes, said.String())
		}
	}
}

// TestDrainedEventsAreKeptForTheWindowOfIDs and for nobody else.
func TestDrainedEventsAreKeptForTheWindowOfIDs(t *testing.T) {
	for name, c := range map[string]struct {
		v    serveVerb
		want time.Duration
	}{
		"as the window does": {v: serveVerb{DedupEntries: 1, DedupAge: time.Hour}, want: time.Hour},
		"no ids":             {v: serveVerb{DedupAge: time.Hour}},
		"no time":            {v: serveVerb{DedupEntries: 1}},
	} {
		fatal.Same(t, c.v.keepDrained(), c.want, "%s", name)
	}
}

// TestNothingIsBelowZero: a window or a drain below nothing is no way to have none.
func TestNothingIsBelowZero(t *testing.T) {
	for name, v := range map[string]serveVerb{"entries": {DedupEntries: -1}, "age": {DedupAge: -1}, "drain": {Drain: -1}} {
		whittletest.Refused(t, v.Validate(), whittle.Invalid, name)
	}
	fatal.If(t, (&serveVerb{}).Validate())
}

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// metric reads a figure of the admin port, -1 where it is not there.
func (p *process) metric(t testing.TB, name string) float64 {
	t.Helper()
	_, text := get(t, p.admin+"/metrics")
	for line := range strings.Lines(text) {
		var v float64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return -1
}

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
		p.stop(t)
		if got := p.log.String(); !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "is set and not used") {
			t.Errorf("%v %v: want %q in\n%s", c.env, c.args, c.want, got)
		}
	}
}

// TestLogFirst responds for the local disk and drains to JetStream, over a
// restart.
func TestLogFirst(t *testing.T) {
	dir := t.TempDir()
	args := []string{
		"--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0",
		"--sink", "nats", "--data", "sink", "--log-first", "first",
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
		eventually(t, "the sink has it all", func() bool { return p.metric(t, "ingest_drain_lag_events") == 0 })
		p.stop(t)
	}
	out := ingest(t, dir, "tail", "--sink", "nats", "--data", "sink", "-n", "100", "--values")
	for i := range 8 {
		if n := strings.Count(out, fmt.Sprintf(`"messageId":"m-%d"`, i)); n != 1 {
			t.Errorf("m-%d is in the sink %d times\n%s", i, n, out)
		}
	}
}

// TestLogFirstWithoutItsSink starts, is ready and responds while the sink cannot
// be reached.
func TestLogFirstWithoutItsSink(t *testing.T) {
	nobody, err := unused()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), nil,
		"--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0",
		"--sink", "nats", "--nats-url", "nats://"+nobody, "--log-first", "first")
	a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", "x")
	if err != nil || a.code != 200 || a.Durability != "local-fsync" {
		t.Errorf("%+v, %v", a, err)
	}
	if code, text := get(t, p.admin+"/ready"); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	eventually(t, "the drain says that it is behind and fails", func() bool {
		return p.metric(t, "ingest_drain_lag_events") == 1 && p.metric(t, "ingest_drain_troubles") > 0
	})
	p.kill() // ended in order it would wait for the sink for a while
}

// TestStraightToASink responds for what the sink reached.
func TestStraightToASink(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--sink", "nats", "--data", "sink")
	a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", "hello")
	if err != nil || a.code != 200 || a.Durability != "jetstream" {
		t.Errorf("%+v, %v", a, err)
	}
	p.stop(t)
	if out := ingest(t, dir, "tail", "--sink", "nats", "--data", "sink", "--values"); out != "hello\n" {
		t.Errorf("the sink holds %q", out)
	}
	if out := ingest(t, dir, "verify", "--sink", "nats", "--data", "sink"); !strings.Contains(out, "1 records intact") {
		t.Errorf("%s", out)
	}
}

// ingest runs a verb to its end and gives what it printed.
func ingest(t testing.TB, dir string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), asServer+"=1")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ingest %v: %v\n%s", args, err, said.String())
	}
	return string(out)
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

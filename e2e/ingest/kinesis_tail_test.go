package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// TestKinesisIsReadAsOthersDo puts events on a stream and reads them as any
// consumer would, as lines of JSON, and by ingest tail: from the
// position that a response named, and all of them.
func TestKinesisIsReadAsOthersDo(t *testing.T) {
	kinesisAPI(t, "events")
	s := serve(t, t.TempDir(), "--sink", "kinesis", "--kinesis-stream", "events")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const n = 12
	at := map[string]string{} // by id, the position
	for i := range n {
		id := fmt.Sprintf("m%d", i)
		a, err := post(t.Context(), client, s.public, id, fmt.Sprintf(`{"n":%d}`, i))
		if err != nil || a.code != http.StatusOK || a.Durability != "kinesis" {
			t.Fatalf("%+v, %v", a, err)
		}
		at[id] = a.Position
	}
	s.kill()
	tail := func(args ...string) (ids []string) {
		t.Helper()
		args = append([]string{"tail", "--env-file", "", "--sink", "kinesis", "--kinesis-stream", "events"}, args...)
		out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		for line := range strings.Lines(string(out)) {
			var e struct {
				ID, Position string
				Value        struct{ N *int }
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Position != at[e.ID] || e.Value.N == nil {
				t.Fatalf("%q: %s is not at %s", args, line, at[e.ID])
			}
			ids = append(ids, e.ID)
		}
		return ids
	}
	for id, position := range at {
		if got := tail("--from", position); len(got) == 0 || got[0] != id {
			t.Errorf("from %s: %q", position, got)
		}
		break
	}
	// As a consumer of its own sees it.
	raw := exec.CommandContext(t.Context(), binary, "tail", "--env-file", "", "--sink", "kinesis", "--kinesis-stream", "events", "--kinesis-raw", "--values")
	out, err := raw.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		var e struct {
			V       int
			ID      string
			Headers [][2]string
			Event   json.RawMessage
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.V != 1 || at[e.ID] == "" || !strings.HasPrefix(string(e.Event), `{"n":`) || len(e.Headers) == 0 {
			t.Errorf("%s: %v", line, err)
		}
		seen++
	}
	if seen != n {
		t.Errorf("%d lines", seen)
	}
}

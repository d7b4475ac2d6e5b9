package ingest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// TestSegmentsOwnSDK lets the official SDK send every kind of call and a burst:
// all arrive once. (It sends batches side by side, so their order is its own.)
func TestSegmentsOwnSDK(t *testing.T) {
	node := needs.Node(t)
	if _, err := os.Stat("segment/node_modules"); err != nil {
		t.Fatal("the SDK is not installed: make deps")
	}
	const burst = 1000
	data := t.TempDir()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("key-of-the-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, data, "--keys", keys)
	send := func(key string) ([]byte, error) {
		return exec.CommandContext(t.Context(), node, "segment/send.js", s.public, key, fmt.Sprint(burst)).CombinedOutput()
	}
	if out, err := send("another-key"); err == nil {
		t.Errorf("a key that is not known was let in: %s", out)
	}
	if out, err := send("key-of-the-test"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.kill()
	kinds, ids := map[string]int{}, map[string]bool{}
	for _, e := range entries(t, data) {
		var event struct {
			Type, Event, MessageID, UserID, ReceivedAt, Timestamp string
			Context                                               struct{ Library struct{ Name string } }
			Properties                                            struct {
				N    *float64
				Text string
			}
		}
		if err := json.Unmarshal(e.Value, &event); err != nil {
			t.Fatalf("%s: %v", e.Value, err)
		}
		kinds[event.Type]++
		if ids[event.MessageID] || event.MessageID == "" {
			t.Errorf("the message %q is there twice, or has no id", event.MessageID)
		}
		ids[event.MessageID] = true
		if event.ReceivedAt == "" || event.Timestamp == "" || event.Context.Library.Name != "@segment/analytics-node" {
			t.Errorf("an event lacks what it needs: %s", e.Value)
		}
		if event.Properties.N != nil && event.Properties.Text != "größer ✓" {
			t.Errorf("the text became %q", event.Properties.Text)
		}
	}
	want := map[string]int{"identify": 1, "track": 1 + burst, "page": 1, "screen": 1, "group": 1, "alias": 1}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("arrived %v, want %v", kinds, want)
	}
}

// entries reads a log at rest.
func entries(t *testing.T, data string) (all []stream.Entry) {
	t.Helper()
	log, err := embedded.Open(data, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(t.Context())
	parts, err := log.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := log.Read(t.Context(), parts[0].First)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 256)
	for total := number(t, parts[0].Next.Offset) - number(t, "0"+parts[0].First.Offset); uint64(len(all)) < total; {
		n, err := r.Next(t.Context(), into)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range into[:n] {
			e.Value = append([]byte(nil), e.Value...)
			all = append(all, e)
		}
	}
	return all
}

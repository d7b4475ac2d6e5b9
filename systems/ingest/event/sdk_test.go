package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"whittle/systems/ingest/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOfficialSDK reads what @segment/analytics-node 3.1.0 sent for one call of
// each kind, as it was captured, and compares the records with the golden ones.
func TestOfficialSDK(t *testing.T) {
	body, err := os.ReadFile("testdata/analytics-node-3.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	c := call(event.Bulk)
	c.WriteKey, c.Received = "", time.Date(2026, 11, 21, 7, 18, 9, 0, time.UTC)
	b, err := event.Parse(event.Limits{}, c, body)
	if err != nil || b.WriteKey != "a-write-key" {
		t.Fatalf("%q, %v", b.WriteKey, err)
	}
	var sent struct {
		Batch []struct{ Type, MessageID, UserID, AnonymousID string }
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Batch) != 7 || len(b.Items) != 7 {
		t.Fatalf("%d sent, %d read, %v", len(sent.Batch), len(b.Items), err)
	}
	var lines bytes.Buffer
	for i, item := range b.Items {
		e, r := sent.Batch[i], item.Record
		if item.Err != nil || r.ID != e.MessageID || r.Key != e.UserID+e.AnonymousID || r.Header[0].Value != e.Type {
			t.Errorf("%+v is read as %+v, %v", e, r, item.Err)
		}
		lines.Write(append(r.Value, '\n'))
	}
	const golden = "testdata/analytics-node-3.1.0.records"
	if *update {
		if err := os.WriteFile(golden, lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(want, lines.Bytes()) {
		t.Errorf("%v; got\n%s", err, lines.Bytes())
	}
}

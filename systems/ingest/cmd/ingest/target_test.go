package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle/systems/ingest/stream"
)

// TestEveryIDIsReplayed sends events to a server, replays its log to another
// one and back to itself: the ids are the same, and known again.
func TestEveryIDIsReplayed(t *testing.T) {
	ids := []string{"plain-1", "order 17", "käse", "a\nb", "\x00", "\r\nX-Evil: 1", `"quoted"`, `%"looks like one"`, "100%", "日本\t", " ", strings.Repeat("ü", 99)}
	dir := t.TempDir()
	serve := func(data string) *process {
		return start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--data", data)
	}
	first := serve("first")
	for _, id := range ids {
		body, err := json.Marshal(map[string]string{"type": "track", "userId": "u", "messageId": id})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := post(http.DefaultClient, first.public+"/v1/track", "", "application/json", string(body)); err != nil || a.code != 200 {
			t.Fatalf("%q: %+v, %v", id, a, err)
		}
	}
	first.stop(t)
	first, second := serve("first"), serve("second")
	for _, to := range []*process{second, second, first} {
		ingest(t, dir, "replay", "--data", "first", "--url", to.public+"/import", "--within", "20s")
	}
	first.stop(t)
	second.stop(t)
	for _, data := range []string{"first", "second"} {
		var got []string
		for _, r := range held(t, filepath.Join(dir, data)) {
			got = append(got, r.ID)
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(ids)); !slices.Equal(got, want) {
			t.Errorf("%s has the ids %q, want %q", data, got, want)
		}
	}
}

// TestWhatNoHeaderHoldsIsRejected at once: trying again would not mend it.
func TestWhatNoHeaderHoldsIsRejected(t *testing.T) {
	p := start(t, t.TempDir(), nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0")
	to, err := newHTTPTarget(p.public+"/import", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer to.close()
	batch := []stream.Entry{
		{Record: stream.Record{ID: "1", Value: []byte("x"), Header: []stream.Header{{Name: "content-type", Value: "text/plain\nX: y"}}}},
		{Record: stream.Record{ID: "\xff", Value: []byte("x")}},
		{Record: stream.Record{ID: "3", Value: []byte("x")}},
	}
	rejected, err := to.send(t.Context(), batch, make([]bool, len(batch)))
	if err != nil || len(rejected) != 2 || !strings.Contains(rejected[0].reason, "content-type") || !strings.Contains(rejected[1].reason, "400") {
		t.Errorf("%+v, %v", rejected, err)
	}
}

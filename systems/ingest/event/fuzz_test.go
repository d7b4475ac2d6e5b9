package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

func seeds() []string {
	return []string{
		`{"type":"track","userId":"u"}`, `{"batch":[]}`, `{"batch":[{"type":"page","anonymousId":"a"},7,[]],"context":{"a":{}},"sentAt":"2026-03-01T12:00:09Z"}`,
		`{"writeKey":"k","userId":"u","timestamp":"1970-01-01T00:00:01Z","sentAt":null}`, ` { "user\u0049d" : -1e5 , "context" : [ ] , "integrations":{"All":true} } `,
		"{\"userId\":\"\xff\"}", `{"userId":"u","userId":"v"}`, `{"x":[[[[{"a":[`, `{"batch":[{"type":"track","userId":"u","messageId":"\ud800"}],"batch":[]}`, sample(1, 1200),
	}
}

// FuzzParse holds what must be true of any bytes: no panic, a response within
// the bounds, and JSON that says what its record says in all that is accepted.
func FuzzParse(f *testing.F) {
	kinds := []event.Kind{event.Track, event.Identify, event.Page, event.Screen, event.Group, event.Alias, event.Bulk, event.Import}
	for _, s := range seeds() {
		f.Add(uint8(0), []byte(s))
		f.Add(uint8(6), []byte(s))
	}
	var p event.Parser
	l := event.Limits{Event: 2 << 10, Batch: 16 << 10, Events: 20, Merged: 32 << 10}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		c := call(kinds[int(kind)%len(kinds)])
		before := bytes.Clone(body)
		b, err := p.Parse(l, c, body)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if b.Items != nil {
				t.Fatal("items of a body that is refused")
			}
			return
		}
		if !json.Valid(withoutRejected(t, body, b)) {
			t.Fatalf("accepted, and not JSON: %q", body)
		}
		if len(b.Items) > l.Events {
			t.Fatalf("%d items", len(b.Items))
		}
		total := 0
		for i := range b.Items {
			if b.Items[i].Err == nil {
				total += len(b.Items[i].Record.Value)
				accepted(t, &b.Items[i].Record)
			}
		}
		if total > l.Merged {
			t.Fatalf("%d bytes", total)
		}
	})
}

// withoutRejected is the body with a number in place of each event that was
// rejected.
func withoutRejected(t *testing.T, body []byte, b event.Batch) (out []byte) {
	t.Helper()
	done := 0
	for _, item := range b.Items {
		if item.Err == nil {
			continue
		}
		at := cap(body) - cap(item.Raw) // Raw is a part of the body
		if at > item.Offset || item.Offset > at+len(item.Raw) {
			t.Fatalf("an event at %d is wrong at %d: %q", at, item.Offset, body)
		}
		out = append(append(out, body[done:at]...), '0')
		done = at + len(item.Raw)
	}
	return append(out, body[done:]...)
}

// accepted holds what is true of each record.
func accepted(t *testing.T, r *stream.Record) {
	t.Helper()
	var e map[string]json.RawMessage
	if err := json.Unmarshal(r.Value, &e); err != nil || !utf8.Valid(r.Value) {
		t.Fatalf("%v: %q", err, r.Value)
	}
	var id, kind string
	if json.Unmarshal(e["messageId"], &id) != nil || id != r.ID || id == "" || len(id) > stream.MaxID {
		t.Fatalf("id %q of %s", r.ID, r.Value)
	}
	if json.Unmarshal(e["type"], &kind) != nil || kind != r.Header[0].Value {
		t.Fatalf("kind %v of %s", r.Header, r.Value)
	}
	var context struct{ IP json.RawMessage }
	if json.Unmarshal(e["context"], &context) != nil || e["timestamp"] == nil || string(e["receivedAt"]) != receivedText {
		t.Fatalf("without what is added: %s", r.Value)
	}
	if _, ok := e["writeKey"]; ok || r.Key == "" || len(r.Key) > stream.MaxKey || !r.Intact() {
		t.Fatalf("%+v of %s", r, r.Value)
	}
}

// sample is an event of about n bytes.
func sample(i, n int) string {
	s := fmt.Sprintf(`{"timestamp":"2026-03-01T12:00:04.%03dZ","integrations":{},"userId":"user-%d","type":"track","event":"Product Viewed",`+
		`"messageId":"ajs-next-1772366404-%08d","properties":{"price":18.99,"quantity":1,"url":"https://www.example.com/product/path"},`+
		`"context":{"page":{"path":"/product/path","search":""},"locale":"en-GB","timezone":"Europe/Berlin","note":"`, i%1000, i, i)
	return s + strings.Repeat("x", max(0, n-len(s)-len(`"}}`))) + `"}}`
}

func batchOf(n, size int) []byte {
	all := make([]string, n)
	for i := range all {
		all[i] = sample(i, size)
	}
	return []byte(`{"batch":[` + strings.Join(all, ",") + `],"sentAt":"2026-03-01T12:00:09.000Z"}`)
}

// TestParserIsUsedAgain: what one body leaves does not show in the next one's.
func TestParserIsUsedAgain(t *testing.T) {
	var p event.Parser
	bodies := []string{
		string(batchOf(5, 800)), `{"batch":[{"userId":"u","type":"page"}],"context":{"a":1},"writeKey":"w"}`, `{"batch":[`,
		`{"batch":[{"userId":"` + strings.Repeat(`\u0061`, 100) + `","type":"page","messageId":"\u0062"}],"writeKey":"\u0077"}`, `{"batch":[]}`,
	}
	for i := range 40 {
		body := bodies[i*7%len(bodies)]
		c := call(event.Bulk)
		c.WriteKey = ""
		got, err := p.Parse(event.Limits{}, c, []byte(body))
		c = call(event.Bulk)
		c.WriteKey = ""
		want, wantErr := event.Parse(event.Limits{}, c, []byte(body))
		if len(got.Items)+len(want.Items) == 0 {
			got.Items, want.Items = nil, nil
		}
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s\nfirst %+v, %v\nagain %+v, %v", body, want, wantErr, got, err)
		}
	}
}

// TestMemoryIsBounded: a few allocations a body, not some for each event.
func TestMemoryIsBounded(t *testing.T) {
	var p event.Parser
	c := call(event.Bulk)
	for _, events := range []int{10, 400} {
		body := batchOf(events, 1000)
		if n := testing.AllocsPerRun(20, func() {
			if b, err := p.Parse(event.Limits{}, c, body); err != nil || len(b.Items) != events {
				t.Fatal(err)
			}
		}); n > 8 {
			t.Errorf("%v allocations for %d events", n, events)
		}
	}
}

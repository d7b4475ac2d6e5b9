package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/systems/ingest/event"
)

// tree decodes JSON as encoding/json does, with numbers as they are written.
func tree(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

// merged is the plain way to do what the package does by splicing: on decoded
// trees. It knows the events that writer writes.
func merged(e, batch map[string]any, c event.Call, id string) map[string]any {
	out := maps.Clone(e)
	delete(out, "writeKey")
	if s, _ := out["messageId"].(string); s == "" {
		out["messageId"] = id
	}
	for _, name := range []string{"context", "integrations"} {
		both := map[string]any{}
		more, _ := batch[name].(map[string]any)
		maps.Copy(both, more)
		own, _ := e[name].(map[string]any)
		maps.Copy(both, own)
		if _, ok := both["ip"]; !ok && name == "context" {
			both["ip"] = c.Address
		}
		if len(both) > len(own) {
			out[name] = both
		}
	}
	moment := func(v any) time.Time {
		s, _ := v.(string)
		at, _ := time.Parse(time.RFC3339Nano, s)
		return at
	}
	if out["sentAt"] == nil && !moment(batch["sentAt"]).IsZero() {
		out["sentAt"] = batch["sentAt"]
	}
	if out["originalTimestamp"] == nil && e["timestamp"] != nil {
		out["originalTimestamp"] = e["timestamp"]
	}
	happened, original := c.Received, moment(out["originalTimestamp"])
	if original.IsZero() {
		original = moment(e["timestamp"])
	}
	if !original.IsZero() {
		if sent := moment(out["sentAt"]); !sent.IsZero() {
			happened = c.Received.Add(original.Sub(sent))
		} else {
			happened = original
		}
	}
	const layout = "2006-01-02T15:04:05.000Z"
	out["timestamp"] = happened.UTC().Format(layout)
	out["receivedAt"] = c.Received.UTC().Format(layout)
	return out
}

// writer writes random JSON, with random spaces and escapes.
type writer struct {
	*rand.Rand
	b strings.Builder
}

func (w *writer) pick(all ...string) string { return all[w.IntN(len(all))] }

func (w *writer) space() {
	for w.IntN(8) == 0 {
		w.b.WriteString(w.pick(" ", "\n", "\t", "\r"))
	}
}

func (w *writer) token(s string) { w.space(); w.b.WriteString(s); w.space() }

// text writes s with some of its letters escaped.
func (w *writer) text(s string) {
	w.space()
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < 0x10000 && w.IntN(20) == 0:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			fallthrough
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
	w.space()
}

func (w *writer) object(names []string, value func(name string)) {
	w.token("{")
	for i, n := range names {
		if i > 0 {
			w.token(",")
		}
		w.text(n)
		w.token(":")
		value(n)
	}
	w.token("}")
}

// some returns a random choice of names in a random order, none twice.
func (w *writer) some(names ...string) (chosen []string) {
	for _, i := range w.Perm(len(names)) {
		if w.IntN(2) == 0 {
			chosen = append(chosen, names[i])
		}
	}
	return chosen
}

func (w *writer) value(depth int) {
	switch n := w.IntN(9); {
	case n < 2 && depth > 0:
		w.object(w.some("a", "ip", "name", "deep", "ключ"), func(string) { w.value(depth - 1) })
	case n == 2 && depth > 0:
		w.token("[")
		for i := range w.IntN(4) {
			if i > 0 {
				w.token(",")
			}
			w.value(depth - 1)
		}
		w.token("]")
	case n < 6:
		w.text(w.pick("", "a", "seven77", "eight888", "much longer than eight", "schön und lang genug", "\"quoted\\", "😀"))
	default:
		w.token(w.pick("true", "false", "null", "0", "-1.5", "12345678901234567890", "1e400", "2E-7"))
	}
}

func (w *writer) time() {
	at := received.Add(time.Duration(w.Int64N(int64(time.Hour))) - 2*time.Hour)
	w.text(at.In(time.FixedZone("", w.IntN(5)*1800)).Format(w.pick(time.RFC3339Nano, time.RFC3339)))
}

func (w *writer) member(name string) {
	switch name {
	case "type":
		w.text(w.pick("track", "identify", "page", "screen", "group", "alias"))
	case "userId":
		w.text(w.pick("u", "someone with a longer name"))
	case "messageId":
		w.text(w.pick("", "id", "a-longer-id-of-some-characters"))
	case "context", "integrations":
		if w.IntN(8) == 0 {
			w.token("null")
		} else {
			w.object(w.some("ip", "os", "library", "page", "All"), func(string) { w.value(2) })
		}
	case "timestamp", "originalTimestamp", "sentAt":
		w.time()
	default:
		w.value(3)
	}
}

func (w *writer) event() {
	names := append(w.some("messageId", "context", "integrations", "timestamp", "originalTimestamp", "sentAt", "receivedAt", "writeKey", "x", "properties", "ключ", "anonymousId2"), "userId", "type")
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	w.object(names, w.member)
}

func TestSplicingIsMergingOfTrees(t *testing.T) {
	var p event.Parser
	for seed := range uint64(3000) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
		n := 0
		w.object(append(w.some("context", "sentAt", "integrations", "metadata"), "batch"), func(name string) {
			if name != "batch" {
				w.member(name)
				return
			}
			w.token("[")
			for n = range 1 + w.IntN(4) {
				if n > 0 {
					w.token(",")
				}
				w.event()
			}
			n++
			w.token("]")
		})
		body := w.b.String()
		got, err := p.Parse(event.Limits{}, call(event.Bulk), []byte(body))
		if err != nil || len(got.Items) != n {
			t.Fatalf("seed %d: %v, %d items of %d\n%s", seed, err, len(got.Items), n, body)
		}
		batch := tree(t, []byte(body)).(map[string]any)
		assigned := 0
		for i, e := range batch["batch"].([]any) {
			e := e.(map[string]any)
			if s, _ := e["messageId"].(string); s == "" {
				assigned++
			}
			r := got.Items[i].Record
			if got.Items[i].Err != nil || !r.Intact() {
				t.Fatalf("seed %d: %v\n%s", seed, got.Items[i].Err, body)
			}
			want := merged(e, batch, call(event.Bulk), fmt.Sprintf("new-%d", assigned))
			if now := tree(t, r.Value); !reflect.DeepEqual(now, any(want)) {
				t.Fatalf("seed %d, event %d of\n%s\ngot  %s\nwant %v", seed, i, body, r.Value, want)
			}
			if r.ID != want["messageId"] || r.Key != e["userId"] || r.Header[0].Value != e["type"] {
				t.Fatalf("seed %d: %+v", seed, r)
			}
		}
	}
}

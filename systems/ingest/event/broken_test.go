package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/systems/ingest/event"
)

// TestOneWrongEventOfABatch finds that an event which is not JSON is rejected
// alone, with its bytes and with the place at which it is wrong.
func TestOneWrongEventOfABatch(t *testing.T) {
	const good = `{"type":"track","userId":"u","messageId":"m"}`
	for _, c := range []struct{ bad, at, reason string }{
		{`{"type":"track","userId":"u","p":{"x":NaN}}`, "NaN", "NaN is none"},
		{`{"p":[1,Infinity,2]}`, "Infinity", "Infinity is none"},
		{`{"p": -Infinity }`, "-Infinity", "-Infinity is none"},
		{`{"p":None,"q":"},]"}`, "None", "None is none"},
		{`{"p":True}`, "True", "True is none"},
		{`{"p":undefined}`, "undefined", "undefined is none"},
		{`NaN`, "NaN", "NaN is none"},
		{`{"p":1,}`, "}", "not JSON"},
		{`{p:1}`, "p", "not JSON"},
		{`{"p" 1}`, `"p"`, "not JSON"},
		{"{\"p\":\"line\nend\"}", "\"line", "not JSON"},
		{`{"p":"\x"}`, `"\x`, "not JSON"},
		{`{"p":01}`, `01`, "not JSON"},
		{`{"p":[1 2]}`, `2`, "not JSON"},
		{`{"p":{"q":{"r":[{"s":.5}]}}}`, `.5`, "not JSON"},
		{`bare words, with`, "bare", "not JSON"}, // two items, both wrong
	} {
		for _, body := range []string{
			`{"batch":[` + good + `, ` + c.bad + ` ,` + good + `],"writeKey":"k"}`,
			`{"writeKey":"k","batch":[` + c.bad + `,` + good + `,` + good + `]}`,
			`{"batch":[` + good + `,` + good + `,` + c.bad + `]}`,
		} {
			b, err := event.Parse(event.Limits{}, call(event.Bulk), []byte(body))
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			kept, rest := 0, c.bad
			for _, item := range b.Items {
				if item.Err == nil {
					kept++
					continue
				}
				if !strings.Contains(body[:item.Offset], `"batch"`) || !strings.HasPrefix(rest, string(item.Raw)) {
					t.Errorf("%s: %q at %d", body, item.Raw, item.Offset)
				}
				if rest == c.bad && (!strings.HasPrefix(body[item.Offset:], c.at) || !strings.Contains(item.Err.Error(), c.reason)) {
					t.Errorf("%s: %v at %q", body, item.Err, body[item.Offset:])
				}
				rest = strings.TrimLeft(strings.TrimPrefix(rest, string(item.Raw)), ", ")
			}
			if kept != 2 || rest != "" {
				t.Errorf("%s: %d are kept, and nothing is said of %q", body, kept, rest)
			}
		}
	}
}

// TestBatchesWithoutAnEnd: where nobody can say where an event ends, the body is
// rejected as a whole.
func TestBatchesWithoutAnEnd(t *testing.T) {
	for _, body := range []string{
		`{"batch":[{"p":NaN`, `{"batch":[{"p":NaN]}`, `{"batch":[{"p":NaN}`, `{"batch":[{"p":NaN}]`, `{"batch":[{"p":"x}]}`,
		`{"batch":[{} {}]}`, `{"batch":[,{}]}`, `{"batch":[{},]}`, `{"batch":[{},,{}]}`, `{"batch":[NaN}`, `{"batch":[{]}]}`, `{"batch":[`, `{"batch":[{"p":NaN}]}x`,
	} {
		if b, err := event.Parse(event.Limits{}, call(event.Bulk), []byte(body)); err == nil {
			t.Errorf("%s: %+v", body, b.Items)
		}
	}
}

// TestWrongEventsAtRandom spoils events of a batch at random: those that were
// left alone are accepted, byte for byte as without the others, and the others
// are given back as they were sent.
func TestWrongEventsAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	spoils := []string{"NaN", "[NaN]", `{"a":Infinity}`, `"\q"`, "tru", "1.", "{'a':1}", `{"a":}`, "01", "+1", `{"a":1,}`}
	for range 300 {
		var events []string
		var bad []bool
		for i := range 1 + random.IntN(40) {
			spoilt := random.IntN(3) == 0
			value := `{"deep":[1,"],}",{"x":"\\\""}]}`
			if spoilt {
				value = spoils[random.IntN(len(spoils))]
			}
			events = append(events, fmt.Sprintf(`{"type":"track","userId":"u","messageId":"m%d","properties":%s}`, i, value))
			bad = append(bad, spoilt)
		}
		body := []byte(`{"sentAt":null,"batch":[` + strings.Join(events, " ,") + `]}`)
		b, err := event.Parse(event.Limits{}, call(event.Bulk), bytes.Clone(body))
		if err != nil || len(b.Items) != len(events) {
			t.Fatalf("%s: %d items, %v", body, len(b.Items), err)
		}
		for i, item := range b.Items {
			if string(item.Raw) != events[i] || (item.Err != nil) != bad[i] || item.Err == nil && !json.Valid(item.Record.Value) {
				t.Fatalf("%s: event %d is %q, %v", body, i, item.Raw, item.Err)
			}
		}
	}
}

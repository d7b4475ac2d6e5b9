package event_test

import (
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

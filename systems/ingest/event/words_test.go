package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
	"whittle/whittletest"
)

var received = time.Date(2026, 3, 1, 12, 0, 10, 123456789, time.UTC)

const receivedText = `"2026-03-01T12:00:10.123Z"`

// call is one in which new ids are new-1, new-2, ….
func call(kind event.Kind) event.Call {
	n := 0
	return event.Call{
		Kind: kind, Received: received, WriteKey: "key", Address: "203.0.113.7",
		NewID: func() string { n++; return fmt.Sprintf("new-%d", n) },
	}
}

// one parses a body that must hold one event that is accepted.
func one(t *testing.T, c event.Call, body string) stream.Record {
	t.Helper()
	b, err := event.Parse(event.Limits{}, c, []byte(body))
	if err != nil || len(b.Items) != 1 || b.Items[0].Err != nil {
		t.Fatalf("%s\n%+v, %v", body, b, err)
	}
	return b.Items[0].Record
}

func TestWhatIsDoneToAnEvent(t *testing.T) {
	const end = `,"receivedAt":` + receivedText + `}`
	const at = `,"timestamp":` + receivedText + end
	const ip = `,"context":{"ip":"203.0.113.7"}`
	for _, c := range []struct{ name, body, want string }{
		{
			"bytes are kept as they came",
			`{ "type" : "track","n":12345678901234567890, "x":1e400,"\u0061":[1.0,{"b":null}],"userId":"u","messageId":"m","context":{"ip":"1"} }`,
			`{ "type" : "track","n":12345678901234567890, "x":1e400,"\u0061":[1.0,{"b":null}],"userId":"u","messageId":"m","context":{"ip":"1"} ` + at,
		},
		{"what is missing is added", `{"userId":"u"}`, `{"userId":"u","type":"track","messageId":"new-1"` + ip + at},
		{"what is empty is replaced", `{"messageId":"","userId":"u","type":null,"context":null}`, `{"messageId":"new-1","userId":"u","type":"track","context":{"ip":"203.0.113.7"}` + at},
		{"an empty object of PHP", `{"userId":"u","messageId":"m","type":"track","context":[ ]}`, `{"userId":"u","messageId":"m","type":"track","context":{"ip":"203.0.113.7"}` + at},
		{"an address is added to a context", `{"userId":"u","messageId":"m","type":"track","context":{"a":1 }}`, `{"userId":"u","messageId":"m","type":"track","context":{"a":1 ,"ip":"203.0.113.7"}` + at},
		{"an address is added to an empty context", `{"userId":"u","messageId":"m","type":"track","context":{ }}`, `{"userId":"u","messageId":"m","type":"track","context":{ "ip":"203.0.113.7"}` + at},
		{"an address that is there stays", `{"userId":"u","messageId":"m","type":"track","context":{"\u0069p":null}}`, `{"userId":"u","messageId":"m","type":"track","context":{"\u0069p":null}` + at},
		{"names may be escaped", `{"user\u0049d":"u","messageId":"m","type":"tr\u0061ck","context":{"ip":0}}`, `{"user\u0049d":"u","messageId":"m","type":"tr\u0061ck","context":{"ip":0}` + at},
		{"the write key is cut out, first", `{"writeKey":"k", "userId":"u","messageId":"m","type":"track","context":{"ip":0}}`, `{"userId":"u","messageId":"m","type":"track","context":{"ip":0}` + at},
		{"the write key is cut out, in between", `{"userId":"u" ,"writeKey":"k","messageId":"m","type":"track","context":{"ip":0}}`, `{"userId":"u" ,"messageId":"m","type":"track","context":{"ip":0}` + at},
		{"the write key is cut out, last", `{"userId":"u","messageId":"m","type":"track","context":{"ip":0}, "writeKey":"k"}`, `{"userId":"u","messageId":"m","type":"track","context":{"ip":0}` + at},
		{
			"the time is repaired by the client's own clock",
			`{"userId":"u","messageId":"m","type":"track","context":{"ip":0},"timestamp":"1970-01-01T00:00:01Z","sentAt":"1970-01-01T00:00:03.5Z"}`,
			`{"userId":"u","messageId":"m","type":"track","context":{"ip":0},"timestamp":"2026-03-01T12:00:07.623Z","sentAt":"1970-01-01T00:00:03.5Z","originalTimestamp":"1970-01-01T00:00:01Z"` + end,
		},
		{
			"a time of arrival is the server's",
			`{"receivedAt":"2001-01-01","userId":"u","messageId":"m","type":"track","context":{"ip":0},"timestamp":"2026-02-01T12:00:00Z","originalTimestamp":"2026-02-02"}`,
			`{"receivedAt":` + receivedText + `,"userId":"u","messageId":"m","type":"track","context":{"ip":0},"timestamp":"2026-02-02T00:00:00.000Z","originalTimestamp":"2026-02-02"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fatal.Same(t, string(one(t, call(event.Track), c.body).Value), c.want, "")
		})
	}
}

func TestRecord(t *testing.T) {
	c := call(event.Page)
	c.Header = []stream.Header{{Name: "user-agent", Value: "curl"}}
	r := one(t, c, `{"messageId":"\u006d-\ud83d\ude00","anonymousId":"an\"on","userId":"","writeKey":"other"}`)
	want := []stream.Header{{Name: "kind", Value: "page"}, {Name: "source", Value: event.Digest("key")}, {Name: "content-type", Value: "application/json"}, c.Header[0]}
	if r.ID != "m-😀" || r.Key != `an"on` || !r.Time.Equal(received) || fmt.Sprint(r.Header) != fmt.Sprint(want) || !r.Intact() {
		t.Errorf("%+v", r)
	}
	if event.Source(&r) != event.Digest("key") || event.Source(&stream.Record{}) != "" || event.Digest("") != "" {
		t.Error("a source that is not the write key's digest")
	}
	if r := one(t, call(event.Alias), `{"userId":-12e3}`); r.Key != "-12e3" {
		t.Errorf("key %q of a number", r.Key)
	}
	if r := one(t, call(event.Alias), `{"userId":"`+strings.Repeat("é", 200)+`"}`); len(r.Key) != len("sha256:")+64 {
		t.Errorf("key %q of a long name", r.Key)
	}
}

func TestRejectedEvents(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	for _, c := range []struct{ body, reason string }{
		{`{"type":"track"}`, "neither userId nor anonymousId"},
		{`{"type":"track","userId":"","anonymousId":null}`, "neither userId nor anonymousId"},
		{`{"type":"track","userId":[]}`, "userId is not a string"},
		{`{"type":"track","userId":true}`, "userId is not a string"},
		{`{"type":"batch","userId":"u"}`, `type is "batch", which is no kind of event`},
		{`{"type":7,"userId":"u"}`, "type is not a string"},
		{`{"userId":"u"}`, "no type"},
		{`{"type":"track","userId":"u","messageId":1}`, "messageId is not a string"},
		{`{"type":"track","userId":"u","messageId":"` + strings.Repeat("x", 100) + `"}`, "100 characters or more"},
		{`{"type":"track","userId":"u","messageId":"` + strings.Repeat("😀", 99) + `"}`, "more than 256 bytes"},
		{`{"type":"track","userId":"u","messageId":"\ud800"}`, "half a surrogate pair"},
		{`{"type":"track","userId":"u","user\u0049d":"v"}`, "userId twice"},
		{`{"type":"track","userId":"u","context":"c"}`, "context is not an object"},
		{`{"type":"track","userId":"u","integrations":[1]}`, "integrations is not an object"},
		{`{"type":"track","userId":"u","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "nested deeper"},
		{`{"type":"track","userId":"u","context":{"x":` + strings.Repeat(`{"a":`, 127) + "1" + strings.Repeat("}", 127) + `}}`, "nested deeper"},
		{`{"type":"track","userId":"u","x":"` + "\xff" + `"}`, "not UTF-8"},
		{`{"type":"track","userId":"u","` + "\xc0\x80" + `":"a much longer string"}`, "not UTF-8"},
		{`7`, "not an object"},
		{`[{"a":1}]`, "not an object"},
		{`{"type":"track","userId":"u","x":"` + long + `"}`, "are allowed"},
		{`{"type":"track","userId":"u","timestamp":"` + long[:17<<10] + `"}`, "are allowed"},
		{`{"type":"track","userId":"u","originalTimestamp":null,"timestamp":"` + long[:17<<10] + `"}`, "are allowed"},
	} {
		good := `{"type":"page","userId":"u"}`
		b, err := event.Parse(event.Limits{}, call(event.Bulk), []byte(`{"batch":[`+good+`, `+c.body+` ,`+good+`]}`))
		if err != nil || len(b.Items) != 3 || b.Items[0].Err != nil || b.Items[2].Err != nil {
			t.Fatalf("%.80s: its neighbours are not accepted: %v", c.body, err)
		}
		got := b.Items[1].Err
		if got == nil || !strings.Contains(got.Error(), c.reason) {
			t.Errorf("%.80s: %v, want %s", c.body, got, c.reason)
		}
		code := whittle.Invalid
		if c.reason == "are allowed" {
			code = whittle.ResourceExhausted
		}
		fatal.Same(t, whittle.CodeOf(got), code, "%.80s", c.body)
	}
}

func TestRefusedBodies(t *testing.T) {
	const e = `{"type":"track","userId":"u"}`
	small := event.Limits{Batch: 2000, Events: 3, Event: 200, Merged: 3000}
	for _, c := range []struct {
		kind event.Kind
		body string
		code whittle.Code
	}{
		{event.Track, ``, whittle.Invalid},
		{event.Track, `{"userId":"u","x":"` + strings.Repeat("x", 200) + `"}`, whittle.ResourceExhausted},
		{event.Bulk, `{"batch":[` + e + ` ` + e + `]}`, whittle.Invalid},
		{event.Bulk, `{"b\u0061tch":7,"batch":[` + e + `]}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"` + "\xff" + `":1}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"context":{},"context":{}}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"context":{"a":1,"\u0061":2}}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"context":7}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"integrations":"x"}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `],"writeKey":7}`, whittle.Invalid},
		{event.Bulk, `{"batch":[` + e + `,` + e + `,` + e + `,` + e + `]}`, whittle.ResourceExhausted},
		{event.Bulk, `{"batch":[` + e + `],"x":"` + strings.Repeat("x", 2000) + `"}`, whittle.ResourceExhausted},
		{event.Bulk, `{"batch":[],"context":{` + strings.Repeat(" ", 10) + members(129) + `}}`, whittle.ResourceExhausted},
	} {
		b, err := event.Parse(small, call(c.kind), []byte(c.body))
		if err == nil || whittle.CodeOf(err) != c.code || b.Items != nil {
			t.Errorf("%s %s: %v, %d items", c.kind, c.body, err, len(b.Items))
		}
	}
	for _, body := range []string{e, `[1]`, `7`, `{"batch":7}`, `{"x":{"batch":[]}}`} {
		if _, err := event.Parse(event.Limits{}, call(event.Import), []byte(body)); !errors.Is(err, event.ErrNoBatch) {
			t.Errorf("%s: %v", body, err)
		}
	}
	many := `{"batch":[` + strings.TrimSuffix(strings.Repeat(e+",", 100), ",") + `],"context":{"x":"` + strings.Repeat("x", 1000) + `"}}`
	_, err := event.Parse(event.Limits{Merged: 50_000}, call(event.Bulk), []byte(many))
	whittletest.Refused(t, err, whittle.ResourceExhausted, "a context that grows beyond the bound")
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":0`, i)
	}
	return b.String()[1:]
}

func TestBatch(t *testing.T) {
	body := `{"sentAt":"2026-03-01T12:00:09Z","batch":[
		{"type":"track","userId":"u","messageId":"1","timestamp":"2026-03-01T12:00:04Z","context":{"ip":"9","os":{"a":1}},"integrations":{"All":false}},
		{"type":"alias","anonymousId":"a","sentAt":null}
	],"context":{"os":{"b":2},"li\u0062":[1, 2]},"integrations":{"All":true,"X":{}},"writeKey":"in the body","metadata":1}`
	c := call(event.Bulk)
	c.WriteKey = ""
	b, err := event.Parse(event.Limits{}, c, []byte(body))
	if err != nil || b.WriteKey != "in the body" || len(b.Items) != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	for i, want := range []string{
		`{"type":"track","userId":"u","messageId":"1","timestamp":"2026-03-01T12:00:05.123Z","context":{"ip":"9","os":{"a":1},"li\u0062":[1, 2]},` +
			`"integrations":{"All":false,"X":{}},"originalTimestamp":"2026-03-01T12:00:04Z","sentAt":"2026-03-01T12:00:09Z","receivedAt":"2026-03-01T12:00:10.123Z"}`,
		`{"type":"alias","anonymousId":"a","sentAt":"2026-03-01T12:00:09Z","messageId":"new-1",` +
			`"context":{"os":{"b":2},"li\u0062":[1, 2],"ip":"203.0.113.7"},` +
			`"integrations":{"All":true,"X":{}},"timestamp":"2026-03-01T12:00:10.123Z","receivedAt":"2026-03-01T12:00:10.123Z"}`,
	} {
		fatal.Same(t, string(b.Items[i].Record.Value), want, "")
		if !json.Valid(b.Items[i].Record.Value) {
			t.Error("not JSON")
		}
	}
	if h := b.Items[1].Record.Header; h[0].Value != "alias" || event.Source(&b.Items[1].Record) != event.Digest("in the body") {
		t.Errorf("%v", h)
	}
	b, err = event.Parse(event.Limits{}, c, []byte(` {"batch": [ ] } `))
	if err != nil || len(b.Items) != 0 {
		t.Errorf("an empty batch: %+v, %v", b, err)
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]event.Kind{"t": event.Track, "group": event.Group, "i": event.Identify, "batch": event.Bulk, "import": event.Import, "a": event.Alias} {
		if k, ok := event.KindOf(name); !ok || k != want {
			t.Errorf("%s is %s", name, k)
		}
	}
	for _, name := range []string{"", "T", "trackx", "v1"} {
		if k, ok := event.KindOf(name); ok {
			t.Errorf("%q is %s", name, k)
		}
	}
}

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

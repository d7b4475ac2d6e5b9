package kinesis

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// TestEnvelopes: whatever a record is, it comes back as it was; and an envelope is one line that any JSON reader reads.
func TestEnvelopes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_001, time.UTC)
	for _, c := range []struct {
		r    stream.Record
		want string // what the envelope has
	}{
		{stream.Record{ID: "m1", Key: "u1", Time: at, Header: []stream.Header{{Name: "kind", Value: "track"}}, Value: []byte(`{"a":1, "b":1e400,"b":[2]}`)}, `"event":{"a":1, "b":1e400,"b":[2]}}`},
		{stream.Record{Time: at, Value: []byte("anything at all")}, `"text":"anything at all"`},
		{stream.Record{Time: at, Value: []byte("{\n}")}, `"text":"{\n}"`},
		{stream.Record{Time: at, Value: []byte(" {}")}, `"text":" {}"`},
		{stream.Record{Time: at, Value: []byte("{} ")}, `"text":"{} "`},
		{stream.Record{Time: at}, `"text":""`},
		{stream.Record{Time: at, Value: []byte("null")}, `"event":null`},
		{stream.Record{Time: at, Value: []byte{0xff, 0}}, `"base64":"/wA="`},
		{stream.Record{Time: at, Value: []byte("\u2028\x00<&>")}, `"text":`},
		{stream.Record{Time: at, ID: "käse\x00\"", Value: []byte("1")}, `"event":1`},
		{stream.Record{Time: at, ID: "a\xffb", Header: []stream.Header{{Name: "a", Value: "\xff"}}, Value: []byte("1")}, `"id":{"base64":"Yf9i"}`},
		{stream.Record{Time: at, Value: bytes.Repeat([]byte{1}, 5000)}, `"base64":"AQEB`}, // six bytes each, as text
	} {
		c.r.Seal()
		b := appendEnvelope(nil, &c.r)
		if !strings.Contains(string(b), c.want) || !json.Valid(b) || bytes.Count(b, []byte("\n")) != 1 || b[len(b)-1] != '\n' {
			t.Errorf("%q became %q", c.r.Value, b)
		}
		if back, err := parseData(b); err != nil || !back.Intact() || !same(back, c.r) {
			t.Errorf("%+v came back as %+v, %v", c.r, back, err)
		}
	}
}

func same(a, b stream.Record) bool {
	return a.ID == b.ID && a.Key == b.Key && a.Time.Equal(b.Time) && a.Sum == b.Sum && bytes.Equal(a.Value, b.Value) &&
		(len(a.Header) == 0 && len(b.Header) == 0 || reflect.DeepEqual(a.Header, b.Header))
}

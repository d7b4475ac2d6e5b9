package kinesis

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// TestEnvelopes: whatever a record is, it comes back as it was, from the envelope
// or from the compact encoding that is taken in its place; and an envelope is one
// line that any JSON reader reads.
func TestEnvelopes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_001, time.UTC)
	for _, c := range []struct {
		r    stream.Record
		want string // what the envelope has; empty: there is none
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
		{stream.Record{Time: at, ID: "\xff", Value: []byte("1")}, ""},
		{stream.Record{Time: at, Key: "\xff", Value: []byte("1")}, ""},
		{stream.Record{Time: at, Header: []stream.Header{{Name: "a", Value: "\xff"}}, Value: []byte("1")}, ""},
		{stream.Record{Time: at, Value: bytes.Repeat([]byte{1}, 5000)}, ""}, // six bytes each, in JSON
	} {
		c.r.Seal()
		b, ok := appendEnvelope(nil, &c.r, 16<<10)
		if !ok {
			b = stream.AppendRecord(nil, &c.r)
		}
		if ok != (c.want != "") || !strings.Contains(string(b), c.want) || ok && (!json.Valid(b) || bytes.Count(b, []byte("\n")) != 1 || b[len(b)-1] != '\n') {
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

// FuzzEnvelope: what is read of any bytes is within the bounds, and random records
// come back.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"m","key":"k","time":"2026-01-02T03:04:05Z","headers":[["a","b"]],"sum":"1","event":{}}`))
	f.Add([]byte(`{"v":1,"sum":"zz","base64":"!"}`))
	f.Add([]byte(`{"v":1,`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseData(data); err == nil && (len(r.ID) > stream.MaxID || len(r.Key) > stream.MaxKey || len(r.Header) > stream.MaxHeaders) {
			t.Fatalf("%+v", r)
		}
		r := stream.Record{ID: "i", Time: time.Unix(0, 1).UTC(), Value: data}
		r.Seal()
		b, ok := appendEnvelope(nil, &r, 1<<30)
		if back, err := parseData(b); !ok || err != nil || !back.Intact() || !same(back, r) {
			t.Fatalf("%q became %q, %+v, %v", data, b, back, err)
		}
	})
}

func TestEnvelopesOfRandomBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		value := make([]byte, random.IntN(40))
		for i := range value {
			value[i] = " \n\t{}[]\",:\\\x00\x1f\x7f\xc3\xa4\xff019aeu"[random.IntN(23)]
		}
		r := stream.Record{ID: "i", Time: time.Unix(0, 1).UTC(), Value: value}
		r.Seal()
		b, ok := appendEnvelope(nil, &r, 1<<30)
		if back, err := parseData(b); !ok || err != nil || !same(back, r) {
			t.Fatalf("%q became %q, %v", value, b, err)
		}
	}
}

// TestASumHasEightDigits, so that others can compare it as a text.
func TestASumHasEightDigits(t *testing.T) {
	b, ok := appendEnvelope(nil, &stream.Record{Value: []byte("1"), Sum: 0x0a0bd1}, 1<<10)
	if !ok || !strings.Contains(string(b), `"sum":"000a0bd1"`) {
		t.Errorf("%s, %v", b, ok)
	}
}

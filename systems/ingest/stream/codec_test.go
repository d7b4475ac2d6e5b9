package stream_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

func sealed(r stream.Record) stream.Record {
	r.Seal()
	return r
}

func pairs(n int) []stream.Header {
	h := make([]stream.Header, n)
	for i := range h {
		h[i] = stream.Header{Name: fmt.Sprint("name-", i), Value: strings.Repeat("v", i)}
	}
	return h
}

func TestEncodingRoundTrip(t *testing.T) {
	epoch := time.Unix(0, 0).UTC()
	for name, want := range map[string]stream.Record{
		"bare":       {Time: epoch, Value: []byte{}},
		"typical":    {ID: "a-1", Key: "user", Time: time.Unix(1_700_000_000, 999_999_999).UTC(), Header: pairs(3), Value: []byte(`{"a":1}`)},
		"before all": {Time: time.Unix(-1, 1).UTC(), Value: []byte("v")},
		"at bounds": {
			ID: strings.Repeat("i", stream.MaxID), Key: strings.Repeat("k", stream.MaxKey), Time: epoch,
			Header: pairs(stream.MaxHeaders), Value: bytes.Repeat([]byte{0xff}, 1<<20),
		},
		"no text":      {ID: "\x00\xff", Key: "\n\x80", Time: epoch, Header: []stream.Header{{Name: "", Value: "\x00"}}, Value: []byte{0}},
		"long headers": {Time: epoch, Header: []stream.Header{{Name: strings.Repeat("n", 100_000), Value: strings.Repeat("v", 200_000)}}, Value: []byte("v")},
	} {
		t.Run(name, func(t *testing.T) {
			want.Seal()
			b := stream.AppendRecord([]byte("before"), &want)
			fatal.Same(t, len(b)-len("before"), stream.EncodedLen(&want), "bytes, as EncodedLen says")
			got, err := stream.ParseRecord(b[len("before"):])
			fatal.If(t, err)
			if !reflect.DeepEqual(got, want) || !got.Intact() {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestEncodingIsTheOneWritten holds the bytes: what is on disks must stay
// readable.
func TestEncodingIsTheOneWritten(t *testing.T) {
	r := sealed(stream.Record{
		ID: "id", Key: "k", Time: time.Unix(0, 0x0102030405060708).UTC(),
		Header: []stream.Header{{Name: "n", Value: "vv"}}, Value: []byte("123456789"),
	})
	const want = "01" + "839206e3" + "0807060504030201" + "026964" + "016b" + "01" + "016e" + "027676" + "313233343536373839"
	fatal.Same(t, fmt.Sprintf("%x", stream.AppendRecord(nil, &r)), want, "")
}

func TestParseRefuses(t *testing.T) {
	r := sealed(stream.Record{ID: "id", Key: "key", Time: time.Unix(0, 0), Header: pairs(2), Value: []byte{}})
	whole := stream.AppendRecord(nil, &r)
	for n := range len(whole) {
		if got, err := stream.ParseRecord(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken as %+v", n, len(whole), got)
		}
	}
	head := whole[:13]
	for name, b := range map[string][]byte{
		"version":          append([]byte{2}, whole[1:]...),
		"id too long":      append(bytes.Clone(head), append([]byte{0x81, 0x02}, make([]byte, 1000)...)...),
		"too many headers": append(bytes.Clone(head), append([]byte{0, 0, stream.MaxHeaders + 1}, make([]byte, 1000)...)...),
		"endless number":   append(bytes.Clone(head), bytes.Repeat([]byte{0xff}, 20)...),
	} {
		if got, err := stream.ParseRecord(b); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
}

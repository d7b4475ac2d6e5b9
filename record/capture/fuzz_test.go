package capture

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// What can be written is read back as it was.
func FuzzRoundTrip(f *testing.F) {
	f.Add("r", uint64(1), int64(1), "GET", "/a?b", "h", "K", "v", []byte("body"), 200, int64(5), "timeout", "detail", uint8(7))
	f.Add("", uint64(0), int64(0), "", "", "", "", "", []byte{}, 0, int64(0), "", "", uint8(0))
	f.Fuzz(func(t *testing.T, route string, conn uint64, at int64, method, target, host, name, value string, body []byte, status int, latency int64, failure, detail string, flags uint8) {
		if len(body) == 0 {
			body = nil
		}
		e := &Entry{
			Route: route, Conn: conn, At: time.Unix(0, at).UTC(), Served: whittle.Side(flags >> 2 & 1),
			Request: whittle.Request{Method: method, Target: target, Host: host, Header: whittle.Header{name: {value, value}}, Body: body, Truncated: flags&1 > 0},
			Response: whittle.Response{
				Status: status, Header: whittle.Header{value: {}, name: {detail}}, Trailer: whittle.Header{host: {}}, Body: body, Truncated: flags&2 > 0,
				Latency: max(0, time.Duration(latency)), Failure: whittle.Failure(failure), Detail: detail,
			},
		}
		b, err := AppendEntry(nil, e)
		if err != nil {
			return
		}
		var d Decoder
		var got Entry
		rest, err := d.Decode(b, &got)
		if err != nil || len(rest) > 0 || !reflect.DeepEqual(&got, e) {
			t.Fatalf("%v, %d left\n got %+v\nwant %+v", err, len(rest), got, *e)
		}
	})
}

// What can be read can be written, and is the same then.
func FuzzDecode(f *testing.F) {
	b, err := AppendEntry(nil, full())
	fatal.If(f, err)
	f.Add(b)
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		var e, again Entry
		rest, err := d.Decode(b, &e)
		if err != nil {
			return
		}
		w, err := AppendEntry(nil, &e)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", e, err)
		}
		if len(w) > len(b)-len(rest) {
			t.Fatalf("%d bytes became %d", len(b)-len(rest), len(w))
		}
		if _, err := d.Decode(w, &again); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, again, e)
		}
	})
}

// A block's bytes may be anything; a sum that matches proves no good will.
func FuzzBlock(f *testing.F) {
	b, _ := sealed(f, 5)
	h, _ := ParseHeader(b)
	f.Add(b[:HeaderLen], b[HeaderLen:], uint32(h.raw))
	f.Fuzz(func(t *testing.T, head, payload []byte, raw uint32) {
		_, _ = ParseHeader(head)
		if h, ok := ParseHeader(slices.Concat(head, payload)); ok && (h.Size() < HeaderLen || h.First().After(h.Last())) {
			t.Fatalf("header %+v", h)
		}
		h := Header{Count: 5, raw: int(raw % (1 << 20)), payload: len(payload), payloadSum: checksum(payload)}
		if all, err := readBlock(&h, payload); err == nil && len(all) != h.Count {
			t.Fatalf("%d entries", len(all))
		}
	})
}

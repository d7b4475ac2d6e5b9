package deadletter

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// TestLettersAreReadAsTheyWereWritten: whatever a letter holds comes back, also
// after it was a record in bytes.
func TestLettersAreReadAsTheyWereWritten(t *testing.T) {
	at := time.Unix(1_700_000_000, 123).UTC()
	for _, l := range []Letter{
		{
			Time: at, Path: "/v1/batch", Reason: "the event is not JSON", Source: "shop", Index: 3, Offset: 71,
			ID: "m1", RequestID: "r", Address: "::1", ContentType: "application/json", Body: []byte(`{"batch":[NaN]}`),
		},
		{Time: at, Path: "/import", Whole: true, ContentEncoding: "gzip", Body: []byte{0, 1, 255}},
		{Time: at, Path: "/v1/t", Whole: true, Body: bytes.Repeat([]byte("x"), 1<<20)},
	} {
		r := l.Record()
		if n := stream.EncodedLen(&r); n > len(l.Body)+Overhead {
			t.Errorf("%s: a record of %d bytes", l.Path, n)
		}
		again, err := stream.ParseRecord(stream.AppendRecord(nil, &r))
		fatal.If(t, err)
		if back, err := Read(&again); err != nil || !reflect.DeepEqual(back, l) {
			t.Errorf("%+v became %+v, %v", l, back, err)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	l := Letter{Path: "/import", Reason: long, Source: long, ContentType: long, ContentEncoding: long, ID: long, RequestID: long, Address: long}
	r := l.Record()
	if n := stream.EncodedLen(&r); n > Overhead {
		t.Errorf("a record of %d bytes", n)
	}
	if _, err := Read(&r); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoLetter(t *testing.T) {
	for name, r := range map[string]stream.Record{
		"an event":   {Value: []byte("x"), Sum: stream.Checksum([]byte("x")), Header: []stream.Header{{Name: "kind", Value: "track"}}},
		"damaged":    {Value: []byte("x"), Header: []stream.Header{{Name: headerPath, Value: "/import"}}},
		"no numbers": {Header: []stream.Header{{Name: headerPath, Value: "/import"}, {Name: headerIndex, Value: "x"}}},
	} {
		if l, err := Read(&r); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

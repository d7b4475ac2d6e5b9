package front

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// TestRecordsStayAsTheyAre sends records of another ingest: nothing of them
// changes, they are deduplicated as there, and a damaged one is rejected alone.
func TestRecordsStayAsTheyAre(t *testing.T) {
	s, dead := serveDead(t, nil)
	const records = "Content-Type: " + stream.RecordsType
	var want []stream.Record
	var body []byte
	for i := range 30 {
		r := stream.Record{
			ID: fmt.Sprintf("käse\x00 %d", i), Key: fmt.Sprint("u", i%3), Time: time.Unix(1_600_000_000, int64(i)).UTC(), Value: []byte{0, 255, byte(i)},
			Header: []stream.Header{{Name: "kind", Value: "page"}, {Name: "source", Value: "shop"}, {Name: "content-type", Value: "a\nb"}},
		}
		r.Seal()
		want = append(want, r)
		if i == 7 {
			r.Sum++
		}
		body = stream.AppendFramed(body, &r)
	}
	a := s.post("/import", string(body), records)
	if a.code != 400 || a.Accepted != 29 || a.Rejected != 1 || a.Runs[1].From != 7 || len(dead.records()) != 0 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	if got := s.stream.records(); !reflect.DeepEqual(got, append(want[:7:7], want[8:]...)) {
		t.Errorf("kept %+v", got)
	}
	if a := s.post("/import", string(body), records); a.Duplicate != 29 {
		t.Errorf("again: %s", a.text)
	}
	for name, bad := range map[string]string{"cut off": string(body[:len(body)-1]), "no records": "\xff\xff", "too many": strings.Repeat("\x00", 2501)} {
		if a := s.post("/import", bad, records); a.code != 400 && a.code != 413 || a.Accepted > 0 {
			t.Errorf("%s: %d %s", name, a.code, a.text)
		}
	}
	if got := s.send("OPTIONS", "/import", nil).header.Get("Accept-Post"); got != stream.RecordsType {
		t.Errorf("Accept-Post: %q", got)
	}
}

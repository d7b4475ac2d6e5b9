package event_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"whittle/systems/ingest/event"
)

// TestParserIsUsedAgain: what one body leaves does not show in the next one's.
func TestParserIsUsedAgain(t *testing.T) {
	var p event.Parser
	bodies := []string{
		string(batchOf(5, 800)), `{"batch":[{"userId":"u","type":"page"}],"context":{"a":1},"writeKey":"w"}`, `{"batch":[`,
		`{"batch":[{"userId":"` + strings.Repeat(`\u0061`, 100) + `","type":"page","messageId":"\u0062"}],"writeKey":"\u0077"}`, `{"batch":[]}`,
	}
	for i := range 40 {
		body := bodies[i*7%len(bodies)]
		c := call(event.Bulk)
		c.WriteKey = ""
		got, err := p.Parse(event.Limits{}, c, []byte(body))
		c = call(event.Bulk)
		c.WriteKey = ""
		want, wantErr := event.Parse(event.Limits{}, c, []byte(body))
		if len(got.Items)+len(want.Items) == 0 {
			got.Items, want.Items = nil, nil
		}
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s\nfirst %+v, %v\nagain %+v, %v", body, want, wantErr, got, err)
		}
	}
}

// TestMemoryIsBounded: a few allocations a body, not some for each event.
func TestMemoryIsBounded(t *testing.T) {
	var p event.Parser
	c := call(event.Bulk)
	for _, events := range []int{10, 400} {
		body := batchOf(events, 1000)
		if n := testing.AllocsPerRun(20, func() {
			if b, err := p.Parse(event.Limits{}, c, body); err != nil || len(b.Items) != events {
				t.Fatal(err)
			}
		}); n > 8 {
			t.Errorf("%v allocations for %d events", n, events)
		}
	}
}

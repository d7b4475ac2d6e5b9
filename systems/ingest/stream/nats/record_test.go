package nats

import (
	"errors"
	"testing"

	client "github.com/nats-io/nats.go"

	"whittle/systems/ingest/stream"
)

// What is on a subject may come from anybody: it reads as a record that is
// intact, or as corrupt.
func FuzzFromNATS(f *testing.F) {
	r := stream.Record{ID: "i", Key: "k", Value: []byte("v"), Header: []stream.Header{{Name: "n", Value: "v"}}}
	r.Seal()
	h := toNATS("s", &r).Header
	f.Add([]byte("v"), h.Get(headSum), h.Get(headTime), h.Get(headID), h.Get(headKey), h.Get(headPair))
	f.Add([]byte(nil), "zz", "1e9", "%", "%zz", "%=%")
	f.Fuzz(func(t *testing.T, value []byte, sum, at, id, key, pair string) {
		e, err := fromNATS(1, client.Header{
			headSum: {sum}, headTime: {at}, headID: {id}, headKey: {key}, headPair: {pair},
		}, value)
		if err == nil && !e.Intact() {
			t.Errorf("%+v is not intact", e)
		}
		if _, corrupt := errors.AsType[*stream.CorruptError](err); err != nil && !corrupt {
			t.Error(err)
		}
	})
}

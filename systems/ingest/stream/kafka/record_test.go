package kafka

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/systems/ingest/stream"
)

func TestRecordThereAndBack(t *testing.T) {
	for _, r := range []stream.Record{
		{Time: time.Unix(0, 0).UTC()},
		{ID: "i", Key: "k", Time: time.Unix(-1, 1).UTC(), Value: []byte{0, 255}, Header: []stream.Header{{Name: headerID, Value: "x"}, {}}},
	} {
		r.Seal()
		k := toKafka(&r)
		k.Partition, k.Offset = 3, 7
		if (k.Key == nil) != (r.Key == "") {
			t.Errorf("key %q is %v", r.Key, k.Key)
		}
		e, err := fromKafka(k)
		if err != nil || e.Position != position(3, 7) || fmt.Sprintf("%+v", e.Record) != fmt.Sprintf("%+v", r) {
			if string(e.Value) != string(r.Value) || e.ID != r.ID || e.Key != r.Key || !e.Time.Equal(r.Time) || e.Sum != r.Sum || err != nil {
				t.Errorf("%+v became %+v, %v", r, e, err)
			}
		}
		if most := stream.EncodedLen(&r) + encodingOverhead; encodedLen(k) > most {
			t.Errorf("%d bytes on the wire, %d reckoned with", encodedLen(k), most)
		}
	}
}

// What is in a topic may come from anybody: it reads as a record that is intact,
// or as corrupt.
func FuzzFromKafka(f *testing.F) {
	r := stream.Record{ID: "i", Key: "k", Value: []byte("v")}
	r.Seal()
	k := toKafka(&r)
	f.Add([]byte("k"), []byte("v"), headerSum, k.Headers[0].Value, k.Headers[1].Value, k.Headers[2].Value)
	f.Add([]byte(nil), []byte(nil), "", []byte("zz"), []byte("1e9"), []byte(nil))
	f.Fuzz(func(t *testing.T, key, value []byte, name string, sum, at, id []byte) {
		e, err := fromKafka(&kgo.Record{Key: key, Value: value, Headers: []kgo.RecordHeader{
			{Key: name, Value: sum}, {Key: headerTime, Value: at}, {Key: headerID, Value: id},
		}})
		if err == nil && !e.Intact() {
			t.Errorf("%+v is not intact", e)
		}
		if _, corrupt := errors.AsType[*stream.CorruptError](err); err != nil && !corrupt {
			t.Error(err)
		}
	})
}

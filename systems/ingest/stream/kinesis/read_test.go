package kinesis

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// readShards is what a data stream holds now, by shard, as any consumer reads it. What this
// service did not put is an entry that is not intact.
func readShards(t testing.TB, of stream.Stream) map[string][]stream.Entry {
	t.Helper()
	s := of.(*Stream)
	ctx, cancel := context.WithTimeout(t.Context(), longer(time.Minute))
	defer cancel()
	client, end := needAPI(t).Client()
	defer end()
	shards, err := client.ListShards(ctx, &kinesis.ListShardsInput{StreamName: &s.o.Stream})
	fatal.If(t, err)
	all := map[string][]stream.Entry{}
	for _, sh := range shards.Shards {
		id := aws.ToString(sh.ShardId)
		at, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
			StreamName: &s.o.Stream, ShardId: &id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		fatal.If(t, err)
		for next := at.ShardIterator; next != nil; {
			out, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: next})
			fatal.If(t, err)
			for _, r := range out.Records {
				e := stream.Entry{Position: stream.Position{Partition: id, Offset: aws.ToString(r.SequenceNumber)}}
				if s.o.Raw {
					e.Record = stream.Record{Key: aws.ToString(r.PartitionKey), Time: aws.ToTime(r.ApproximateArrivalTimestamp), Value: r.Data}
					e.Seal()
				} else if e.Record, err = parseData(r.Data); err != nil {
					e.Record = stream.Record{Sum: 1}
				}
				all[id] = append(all[id], e)
			}
			if next = out.NextShardIterator; len(out.Records) == 0 && aws.ToInt64(out.MillisBehindLatest) == 0 {
				break
			}
		}
	}
	return all
}

type envelope struct {
	Version int              `json:"v"`
	ID      textOrBytes      `json:"id"`
	Key     textOrBytes      `json:"key"`
	Time    time.Time        `json:"time"`
	Headers [][2]textOrBytes `json:"headers"`
	Sum     string           `json:"sum"`
	Event   json.RawMessage  `json:"event"`
	Text    *string          `json:"text"`
	Base64  *string          `json:"base64"`
}

// textOrBytes is a string, or {"base64": "…"}.
type textOrBytes string

func (s *textOrBytes) UnmarshalJSON(b []byte) error {
	var coded struct{ Base64 []byte }
	if json.Unmarshal(b, &coded) == nil {
		*s = textOrBytes(coded.Base64)
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

var errEnvelope = errors.New("an envelope that cannot be read")

// parseData reads an envelope.
func parseData(data []byte) (stream.Record, error) {
	var e envelope
	if json.Unmarshal(data, &e) != nil || len(e.ID) > stream.MaxID || len(e.Key) > stream.MaxKey || len(e.Headers) > stream.MaxHeaders {
		return stream.Record{}, errEnvelope
	}
	r := stream.Record{ID: string(e.ID), Key: string(e.Key), Time: e.Time.UTC()}
	sum, err := strconv.ParseUint(e.Sum, 16, 32)
	r.Sum = uint32(sum)
	for _, h := range e.Headers {
		r.Header = append(r.Header, stream.Header{Name: string(h[0]), Value: string(h[1])})
	}
	switch {
	case e.Event != nil:
		r.Value = e.Event
	case e.Text != nil:
		r.Value = []byte(*e.Text)
	case e.Base64 != nil && err == nil:
		r.Value, err = base64.StdEncoding.DecodeString(*e.Base64)
	default:
		err = errEnvelope
	}
	if err != nil {
		return stream.Record{}, errEnvelope
	}
	return r, nil
}

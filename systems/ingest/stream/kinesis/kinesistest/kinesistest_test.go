package kinesistest

import (
	"context"
	"testing"

	"whittle/internal/needs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
)

func start(t *testing.T, o Options) *API {
	t.Helper()
	a, err := Start(t.Context(), o)
	if whittle.CodeOf(err) == whittle.Unsupported {
		needs.Missing(t, "a Kinesis API", Install)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// put makes one call with a record for each of the keys.
func put(ctx context.Context, t *testing.T, a *API, stream string, keys ...string) (*kinesis.PutRecordsOutput, error) {
	t.Helper()
	client, end := a.Client()
	defer end()
	in := &kinesis.PutRecordsInput{StreamName: &stream}
	for _, k := range keys {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: aws.String(k), Data: []byte("value of " + k)})
	}
	return client.PutRecords(ctx, in, once)
}

// kept counts the records of a stream with one shard.
func kept(t *testing.T, a *API, stream string) int {
	t.Helper()
	client, end := a.Client()
	defer end()
	at, err := client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: &stream, ShardId: aws.String("shardId-000000000000"), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: at.ShardIterator})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Records)
}

func TestEachProgramIsAKinesisAPI(t *testing.T) {
	for _, program := range []string{Ferrokinesis, KinesisLocal} {
		t.Run(program, func(t *testing.T) {
			a := start(t, Options{Program: program})
			if a.Program != program {
				t.Fatalf("%s was started", a.Program)
			}
			if err := a.CreateStream(t.Context(), "s", 1); err != nil {
				t.Fatal(err)
			}
			out, err := put(t.Context(), t, a, "s", "a", "b")
			if err != nil || len(out.Records) != 2 || aws.ToInt32(out.FailedRecordCount) != 0 {
				t.Fatal(out, err)
			}
			if n := kept(t, a, "s"); n != 2 {
				t.Fatalf("%d records are kept, want 2", n)
			}
		})
	}
}

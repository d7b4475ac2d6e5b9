package main

import (
	"context"
	"io"
	"strconv"
	"testing"

	"whittle"
	"whittle/stream"
)

// closedShard is what a resharding of Kinesis leaves: it tells no end, has two
// records, and is over.
type closedShard struct{ stream.Stream }

func (closedShard) Read(context.Context, stream.Position) (stream.Reader, error) {
	return &shardReader{left: 2}, nil
}

type shardReader struct{ left int }

func (r *shardReader) Next(_ context.Context, into []stream.Entry) (int, error) {
	if r.left == 0 {
		return 0, whittle.Errorf(whittle.FailedPrecondition, "a resharding closed it: %w", io.EOF)
	}
	r.left--
	into[0] = stream.Entry{Position: stream.Position{Partition: "0", Offset: strconv.Itoa(2 - r.left)}}
	return 1, nil
}

func (*shardReader) Close() error { return nil }

func TestAClosedShardIsWalkedToItsEnd(t *testing.T) {
	n := 0
	err := walk(t.Context(), closedShard{}, stream.Partition{Name: "0"}, func(batch []stream.Entry) error {
		n += len(batch)
		return nil
	}, nil)
	if err != nil || n != 2 {
		t.Errorf("%d records, %v", n, err)
	}
}

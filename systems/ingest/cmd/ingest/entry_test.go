package main

import (
	"context"
	"io"
	"strconv"
	"testing"

	"whittle"
	"whittle/systems/ingest/stream"
)

// closedShard is what a resharding of Kinesis leaves: it tells no end, has two
// records, and is over, which it tells with end.
type closedShard struct {
	stream.Stream
	end error
}

func (s closedShard) Read(context.Context, stream.Position) (stream.Reader, error) {
	return &shardReader{left: 2, end: s.end}, nil
}

type shardReader struct {
	left int
	end  error
}

func (r *shardReader) Next(_ context.Context, into []stream.Entry) (int, error) {
	if r.left == 0 {
		return 0, r.end
	}
	r.left--
	into[0] = stream.Entry{Position: stream.Position{Partition: "0", Offset: strconv.Itoa(2 - r.left)}}
	return 1, nil
}

func (*shardReader) Close() error { return nil }

func TestAClosedShardIsWalkedToItsEnd(t *testing.T) {
	n := 0
	closed := closedShard{end: whittle.Errorf(whittle.FailedPrecondition, "a resharding closed it: %w", stream.ErrEnded)}
	err := stream.Walk(t.Context(), closed, stream.Partition{Name: "0"}, func(batch []stream.Entry) error {
		n += len(batch)
		return nil
	}, nil)
	if err != nil || n != 2 {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestADroppedConnectionIsNoEnd of a walk: Kinesis' SDK tells it with io.EOF as
// its cause, and what is behind it was not read.
func TestADroppedConnectionIsNoEnd(t *testing.T) {
	for _, end := range []string{"", "9"} {
		n := 0
		dropped := closedShard{end: whittle.Errorf(whittle.Unavailable, "read shard: %w", io.EOF)}
		p := stream.Partition{Name: "0", Next: stream.Position{Offset: end}}
		err := stream.Walk(t.Context(), dropped, p, func(batch []stream.Entry) error {
			n += len(batch)
			return nil
		}, nil)
		if whittle.CodeOf(err) != whittle.Unavailable || n != 2 {
			t.Errorf("end %q: %d records, %v", end, n, err)
		}
	}
}

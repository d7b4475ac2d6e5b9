package main

import (
	"context"
	"strings"

	"whittle"
	"whittle/systems/ingest/stream"
)

// parsePosition reads "partition/offset" as the responses write it. A partition
// alone is its beginning.
func parsePosition(text string) (stream.Position, error) {
	partition, offset, _ := strings.Cut(text, "/")
	if partition == "" || strings.Trim(offset, "0123456789") != "" {
		return stream.Position{}, whittle.Errorf(whittle.Invalid, "%q is no position", text).
			WithHint("a position is partition/offset as the responses name it: 0/123")
	}
	return stream.Position{Partition: partition, Offset: offset}, nil
}

func formatPosition(p stream.Position) string { return p.Partition + "/" + p.Offset }

// begins returns where to read from: the one position that was asked for, or each
// partition's beginning.
func begins(ctx context.Context, s stream.Stream, from string) ([]stream.Partition, error) {
	parts, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	if from == "" {
		return parts, nil
	}
	at, err := parsePosition(from)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Name == at.Partition {
			p.First = at
			return []stream.Partition{p}, nil
		}
	}
	return nil, whittle.Errorf(whittle.NotFound, "the stream has no partition %q", at.Partition)
}

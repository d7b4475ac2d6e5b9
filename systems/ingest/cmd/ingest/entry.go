package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/systems/ingest/stream"
)

// shown is an entry as a line of JSON.
type shown struct {
	Position string            `json:"position"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"id,omitempty"`
	Key      string            `json:"key,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	body
}

// body is a value in whichever form can hold it.
type body struct {
	JSON   json.RawMessage `json:"value,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func bodyOf(value []byte) body {
	switch {
	case json.Valid(value):
		return body{JSON: value}
	case utf8.Valid(value):
		return body{Text: string(value)}
	}
	return body{Base64: value}
}

func show(e *stream.Entry) shown {
	s := shown{Position: formatPosition(e.Position), Time: e.Time, ID: e.ID, Key: e.Key}
	if len(e.Header) > 0 {
		s.Header = make(map[string]string, len(e.Header))
		for _, h := range e.Header {
			if before, ok := s.Header[h.Name]; ok {
				s.Header[h.Name] = before + ", " + h.Value
				continue
			}
			s.Header[h.Name] = h.Value
		}
	}
	s.body = bodyOf(e.Value)
	return s
}

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
	at.Offset = trimmed(at.Offset)
	var names []string
	for _, p := range parts {
		if names = append(names, p.Name); p.Name != at.Partition {
			continue
		}
		if p.Next.Offset != "" && stream.CompareOffsets(at.Offset, p.Next.Offset) > 0 {
			return nil, whittle.Errorf(whittle.Invalid, "%s is behind the end of the stream, where the next event will be at %s", from, formatPosition(p.Next))
		}
		p.First = at
		return []stream.Partition{p}, nil
	}
	return nil, whittle.Errorf(whittle.NotFound, "the stream has no partition %q", at.Partition).
		WithHint("a position is partition/offset; the partitions are " + strings.Join(names[:min(len(names), shownPartitions)], ", "))
}

// shownPartitions bounds how many partitions a message names.
const shownPartitions = 20

// trimmed is an offset without zeros in front, as the responses write it.
func trimmed(offset string) string {
	if offset == "" {
		return ""
	}
	return cmp.Or(strings.TrimLeft(offset, "0"), "0")
}

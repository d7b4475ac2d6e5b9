package main

import (
	"context"
	"fmt"

	"whittle"
	"whittle/stream"
)

type verifyVerb struct {
	streamFlags
	From string `placeholder:"POSITION" help:"Begin at a position, such as 0/123."`
}

// Help gives the examples.
func (verifyVerb) Help() string {
	return `Reads every record and compares it with the checksum that was taken when it came in. Prints what is there by partition, and each corrupt record. Exit status 1 if there is one.

Examples:
  ingest verify
  ingest verify --data /var/lib/ingest
  ingest verify --sink kinesis --kinesis-stream events`
}

// shownCorrupt is how many corrupt records are named one by one.
const shownCorrupt = 20

// Run reads it all.
func (v *verifyVerb) Run(ctx context.Context, s streams) error {
	src, err := v.openForReading(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(src)
	parts, err := begins(ctx, src, v.From)
	if err != nil {
		return err
	}
	bad := 0
	for _, p := range parts {
		records, bytes := 0, int64(0)
		first, end := "", ""
		err := walk(ctx, src, p, func(batch []stream.Entry) error {
			for i := range batch {
				if !batch[i].Intact() {
					return whittle.Errorf(whittle.Internal, "the stream handed out a record at %s that is not intact", formatPosition(batch[i].Position))
				}
				records++
				bytes += int64(len(batch[i].Value))
			}
			if first == "" {
				first = batch[0].Position.Offset
			}
			end = batch[len(batch)-1].Position.Offset
			return nil
		}, func(e *stream.CorruptError) error {
			if bad++; bad <= shownCorrupt {
				fmt.Fprintf(s.out, "%v\n", e)
			}
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "partition %s: %d records intact, %d bytes, offsets %s to %s\n", p.Name, records, bytes, orNone(first), orNone(end))
	}
	if bad > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d corrupt records", bad).
			WithHint("they are named above; everything else is as it was sent")
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

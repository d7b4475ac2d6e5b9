package main

import (
	"context"
	"encoding/json"
	"fmt"

	"whittle/systems/ingest/stream"
)

type tailVerb struct {
	logPlace
	From   string `placeholder:"POSITION" help:"Begin at a position, such as 0/123, in place of the last events."`
	Count  uint64 `short:"n" default:"10" placeholder:"N" help:"How many of the last events (${default})."`
	Follow bool   `short:"f" help:"Go on as events come, until interrupted."`
	Values bool   `help:"Print the bare events, one a line, in place of position, time, id, key, header and value as JSON."`
}

// Help returns the examples.
func (tailVerb) Help() string {
	return `Prints one line a record of an embedded log, also while a server writes it. Kafka, Kinesis and JetStream are read with their own tools (kcat, aws, nats).

Examples:
  ingest tail                            # the last ten
  ingest tail -f                         # and what comes
  ingest tail --from 0/0 --values        # everything, bare`
}

// Run prints until the end or, with --follow, until ctx ends.
func (v *tailVerb) Run(ctx context.Context, s streams) error {
	l, err := v.open()
	if err != nil {
		return err
	}
	defer closeQuietly(l)
	from, err := begin(l, v.From)
	if err != nil {
		return err
	}
	if _, next, _ := l.Bounds(); v.From == "" && next > from+v.Count {
		from = next - v.Count
	}
	walk := l.Walk
	if v.Follow {
		walk = l.Follow
	}
	return walk(ctx, from, func(e *stream.Entry) error { return v.print(s, e) }, s.corrupt)
}

func (v *tailVerb) print(s streams, e *stream.Entry) error {
	line := e.Value
	if !v.Values {
		var err error
		if line, err = json.Marshal(show(e)); err != nil {
			return fmt.Errorf("show %s: %w", formatPosition(e.Position), err)
		}
	}
	if _, err := fmt.Fprintf(s.out, "%s\n", line); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle/systems/ingest/stream"
)

type tailVerb struct {
	streamFlags
	From   string `placeholder:"POSITION" help:"Begin at a position, such as 0/123 or shardId-000000000000/4959, or at the beginning of a partition, such as 0, in place of the last events."`
	Count  uint64 `short:"n" default:"10" placeholder:"N" help:"How many of the last events (${default}), in each partition; of Kinesis, which does not count them, all are printed."`
	Follow bool   `short:"f" help:"Go on as events come, until interrupted."`
	Values bool   `help:"Print the bare events, one a line, in place of position, time, id, key, header and value as JSON."`
}

// Help returns the examples.
func (tailVerb) Help() string {
	return `Prints one line a record. It reads an embedded log that a server is writing as well as one at rest.

Examples:
  ingest tail                            # the last ten
  ingest tail -f                         # and what comes
  ingest tail --from 0/0 --values        # everything, bare
  ingest tail --sink kafka --kafka-brokers localhost:9092 -f`
}

// Run prints until the end or, with --follow, until ctx ends.
func (v *tailVerb) Run(ctx context.Context, s streams) error {
	src, err := v.openForReading(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(src)
	parts, err := begins(ctx, src, v.From)
	if err != nil {
		return err
	}
	if gone := v.missing(); gone != nil {
		fmt.Fprintf(s.err, "ingest: %v\n", gone)
	}
	out := &printer{to: s, values: v.Values}
	g, ctx := errgroup.WithContext(ctx)
	if !v.Follow {
		for _, p := range parts {
			if p.Next.Offset == "" { // its end shows by some seconds of silence
				g.Go(func() error { return stream.Walk(ctx, src, p, out.entries, out.corrupt) })
			} else if err := stream.Walk(ctx, src, v.back(p), out.entries, out.corrupt); err != nil {
				return err
			}
		}
		return g.Wait()
	}
	for _, p := range parts {
		g.Go(func() error { return follow(ctx, src, v.back(p).First, out) })
	}
	return g.Wait()
}

// back moves a partition's beginning to its last events, where its offsets tell
// which those are.
func (v *tailVerb) back(p stream.Partition) stream.Partition {
	next, err := strconv.ParseUint(p.Next.Offset, 10, 64)
	first, _ := strconv.ParseUint(p.First.Offset, 10, 64)
	if v.From == "" && err == nil && next > first && next-first > v.Count {
		p.First.Offset = strconv.FormatUint(next-v.Count, 10)
	}
	return p
}

// follow prints what a partition holds from a position on, and what comes.
func follow(ctx context.Context, src stream.Stream, from stream.Position, out *printer) error {
	all := stream.Span{Stream: src, From: from, End: stream.Position{Partition: from.Partition, Offset: endless}, IdleTimeout: century}
	return all.Read(ctx, out.entries, out.corrupt)
}

const (
	// endless is an offset that no stream reaches.
	endless = "99999999999999999999999999999999999999999999999999999999999999999999"
	century = 100 * 365 * 24 * time.Hour // how long it may be silent
)

// printer writes entries from several partitions to one output.
type printer struct {
	to     streams
	values bool

	mu sync.Mutex // guards both outputs
}

func (p *printer) entries(batch []stream.Entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range batch {
		line := batch[i].Value
		if !p.values {
			var err error
			if line, err = json.Marshal(show(&batch[i])); err != nil {
				return fmt.Errorf("show %s: %w", formatPosition(batch[i].Position), err)
			}
		}
		if _, err := fmt.Fprintf(p.to.out, "%s\n", line); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

func (p *printer) corrupt(e *stream.CorruptError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to.err, "ingest: %v\n", e)
	return nil
}

package main

import (
	"context"
	"fmt"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

type replayVerb struct {
	streamFlags
	To     streamFlags   `embed:"" prefix:"to-" envprefix:"TO_"`
	URL    string        `placeholder:"URL" help:"Where to post each event: its bytes as the body, its id as Idempotency-Key (as a Display String of RFC 9651 where it is not visible ASCII). Without it they go onto the stream that the --to flags name."`
	Key    string        `name:"write-key" env:"INGEST_WRITE_KEY" placeholder:"KEY" help:"Write key to post with."`
	From   string        `placeholder:"POSITION" help:"Begin at a position, such as 0/123, in place of the beginning."`
	Limit  uint64        `placeholder:"N" help:"End after so many events. 0: all."`
	Posts  int           `default:"8" placeholder:"N" help:"Posts in flight at once (${default}); events of one key stay in order."`
	Within time.Duration `default:"10m" placeholder:"TIME" help:"How long to try one batch before giving up (${default})."`
}

// Help returns the examples.
func (replayVerb) Help() string {
	return `Reads a stream from a position to its end as of now, and sends every event again, bytes and id as they are. What the other side cannot take at this moment is tried again; what it rejects is counted and named. Prints the position to go on from, also when interrupted. Since ids are kept, a receiver that knows duplicates takes each event once, however often it is replayed.

Examples:
  ingest replay --url http://other:3000/import
  ingest replay --from 0/5000 --limit 1000 --url http://staging:3000/import --write-key k1
  ingest replay --to-sink kafka --to-kafka-brokers localhost:9092 --to-kafka-topic events`
}

// target is where events are replayed to. It returns when each of the batch is
// there or was rejected for good.
type target interface {
	send(ctx context.Context, batch []stream.Entry) (rejected []rejection, err error)
	close()
}

// rejection is an event that the other side will not take.
type rejection struct {
	at     stream.Position
	reason string
}

// Run sends until the end.
func (v *replayVerb) Run(ctx context.Context, s streams) error {
	if v.URL == "" && v.isSame(&v.To) {
		return whittle.Errorf(whittle.Invalid, "the --to flags name the stream that is to be replayed: every event would be in it twice").
			WithHint("say where to: --url http://localhost:3000/import, or for example --to-sink kafka --to-kafka-brokers localhost:9092")
	}
	src, err := v.openForReading(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(src)
	parts, err := begins(ctx, src, v.From)
	if err != nil {
		return err
	}
	to, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer to.close()
	p := &replay{to: to, within: v.Within, left: v.Limit, limited: v.Limit > 0, s: s}
	for _, part := range parts {
		if err := stream.Walk(ctx, src, part, func(b []stream.Entry) error { return p.batch(ctx, b) }, p.corrupt); err != nil && err != errEnough { //nolint:errorlint // a mark of our own that nobody wraps
			p.printResume(part)
			return err
		}
		p.printResume(part)
	}
	fmt.Fprintf(s.out, "%d events sent, %d rejected, %d corrupt\n", p.sent, p.rejected, p.broken)
	if p.rejected > 0 || p.broken > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d events are not on the other side", p.rejected+p.broken)
	}
	return nil
}

func (v *replayVerb) open(ctx context.Context) (target, error) {
	if v.URL != "" {
		return newHTTPTarget(v.URL, v.Key, v.Posts)
	}
	dst, err := v.To.open(ctx)
	if err != nil {
		return nil, err
	}
	return &streamTarget{dst}, nil
}

var errEnough = whittle.Errorf(whittle.Canceled, "the limit is reached")

// replay counts and remembers where it is.
type replay struct {
	to      target
	within  time.Duration
	left    uint64
	limited bool
	s       streams

	next                   stream.Position // to go on from
	sent, rejected, broken int
}

func (p *replay) batch(ctx context.Context, b []stream.Entry) error {
	if p.limited && uint64(len(b)) > p.left {
		b = b[:p.left]
	}
	if len(b) == 0 {
		return errEnough
	}
	ctx, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	rejected, err := p.to.send(ctx, b)
	if err != nil {
		return err
	}
	for _, r := range rejected {
		if p.rejected++; p.rejected <= shownCorrupt {
			fmt.Fprintf(p.s.err, "ingest: %s was rejected: %s\n", formatPosition(r.at), r.reason)
		}
	}
	p.sent += len(b) - len(rejected)
	end := b[len(b)-1].Position
	p.next = stream.Position{Partition: end.Partition, Offset: stream.NextOffset(end.Offset)}
	if p.limited {
		if p.left -= uint64(len(b)); p.left == 0 {
			return errEnough
		}
	}
	return nil
}

func (p *replay) corrupt(e *stream.CorruptError) error {
	p.broken++
	fmt.Fprintf(p.s.err, "ingest: %v\n", e)
	return nil
}

// printResume prints where to go on.
func (p *replay) printResume(part stream.Partition) {
	if p.next.Partition == part.Name {
		fmt.Fprintf(p.s.out, "partition %s: go on with --from %s\n", part.Name, formatPosition(p.next))
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

type replayVerb struct {
	streamFlags
	To     streamFlags   `embed:"" prefix:"to-" envprefix:"TO_"`
	URL    string        `placeholder:"URL" help:"Where to send the events. To POST /import of another ingest they go in batches, and keep bytes, id, key, kind, source, time and headers. To any other server each goes in a request of its own: its bytes as the body, its id as Idempotency-Key (as a Display String of RFC 9651 where it is not visible ASCII). Without a URL they go onto the stream that the --to flags name."`
	Key    string        `name:"write-key" env:"INGEST_WRITE_KEY" placeholder:"KEY" help:"Write key to post with."`
	From   string        `placeholder:"POSITION" help:"Begin at a position, such as 0/123, in place of the beginning."`
	State  string        `placeholder:"FILE" help:"Remember in a file how far the replay is, and go on exactly there when it is run again. One replay at a time has the file."`
	Limit  uint64        `placeholder:"N" help:"End after so many events. 0: all."`
	Posts  int           `default:"8" placeholder:"N" help:"Posts in flight at once (${default}); events of one key stay in order."`
	Within time.Duration `default:"10m" placeholder:"TIME" help:"How long to try one batch before giving up (${default})."`
}

// Help returns the examples.
func (replayVerb) Help() string {
	return `Reads a stream from a position to its end as of now, and sends every event again. What the other side cannot take at this moment is tried again; what it rejects is counted and named. Where it takes no events at all (401, 403, 404, 405, 415, 501, a redirect) the replay stops. Prints the position to go on from, also then and when interrupted. Since ids are kept, a receiver that knows duplicates takes each event once, however often it is replayed.

Examples:
  ingest replay --url http://other:3000/import --state replay.json
  ingest replay --from 0/5000 --limit 1000 --url http://staging:3000/import --write-key k1
  ingest replay --to-sink kafka --to-kafka-brokers localhost:9092 --to-kafka-topic events`
}

// Run sends until the end.
func (v *replayVerb) Run(ctx context.Context, s streams) error {
	if v.URL == "" && v.isSame(&v.To) {
		return whittle.Errorf(whittle.Invalid, "the --to flags name the stream that is to be replayed: every event would be in it twice").
			WithHint("say where to: --url http://localhost:3000/import, or for example --to-sink kafka --to-kafka-brokers localhost:9092")
	}
	switch unsaid := v.To.isUnsaid(); {
	case v.URL == "" && unsaid:
		return errNoTarget
	case v.URL != "" && !unsaid:
		return errTwoTargets
	}
	if v.From != "" && v.State != "" {
		return whittle.Errorf(whittle.Invalid, "--from and --state both say where to begin").WithHint("leave one of them out")
	}
	state, err := readReplayState(v.State, v.describe()+" → "+v.targetName())
	if err != nil {
		return err
	}
	defer state.close()
	src, err := v.openForReading(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(src)
	parts, err := begins(ctx, src, v.From)
	if err != nil {
		return err
	}
	to, err := v.open(ctx, s)
	if err != nil {
		return err
	}
	defer to.close()
	gone := v.missing()
	p := &replay{to: to, within: v.Within, left: v.Limit, limited: v.Limit > 0, s: s, state: state}
	for _, part := range parts {
		if err := p.partition(ctx, src, part); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%d events sent, %d rejected, %d corrupt\n", p.sent, p.rejected, p.broken)
	if p.rejected > 0 || p.broken > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d events are not on the other side", p.rejected+p.broken)
	}
	return gone
}

func (v *replayVerb) targetName() string {
	if v.URL != "" {
		return v.URL
	}
	return v.To.describe()
}

func (v *replayVerb) open(ctx context.Context, s streams) (target, error) {
	if v.URL != "" {
		t, err := newHTTPTarget(v.URL, v.Key, v.Posts)
		if err != nil {
			return nil, err
		}
		asking, cancel := context.WithTimeout(ctx, v.Within)
		defer cancel()
		if err := t.ask(asking); err != nil {
			return nil, err
		}
		if !t.records {
			fmt.Fprintf(s.err, "ingest: %s does not say that it takes another ingest's records: each event goes in a request of its own, with its bytes, type and id alone\n", v.URL)
		}
		return t, nil
	}
	dst, err := v.To.open(ctx)
	if err != nil {
		return nil, err
	}
	return &streamTarget{dst}, nil
}

var errEnough = whittle.Errorf(whittle.Canceled, "the limit is reached")

// Bounds of what is sent at once: enough for every post to have a batch.
const (
	maxHeld      = 8192
	maxHeldBytes = 4 << 20
)

// replay counts and remembers where it is.
type replay struct {
	to      target
	within  time.Duration
	left    uint64
	limited bool
	s       streams
	state   *replayState

	held      []stream.Entry // read, and not sent yet
	heldBytes int
	at        *replayedTo // of the partition in hand
	beyond    map[string]bool

	sent, rejected, broken int
}

// partition sends one partition from where it is to its end.
func (p *replay) partition(ctx context.Context, src stream.Stream, part stream.Partition) error {
	if p.limited && p.left == 0 {
		return nil
	}
	p.at, p.beyond = &replayedTo{Next: part.First.Offset}, map[string]bool{}
	if known := p.state.Partitions[part.Name]; known != nil {
		if err := known.recheck(ctx, src, part, p.state.path); err != nil {
			return err
		}
		p.at, part.First.Offset = known, known.Next
		for _, offset := range known.Beyond {
			p.beyond[offset] = true
		}
	}
	p.state.Partitions[part.Name] = p.at
	p.at.End = part.Next.Offset
	began := *p.at
	err := stream.Walk(ctx, src, part, func(b []stream.Entry) error { return p.hold(ctx, b) }, p.corrupt)
	if err == nil || errors.Is(err, errEnough) {
		err = p.flush(ctx)
	} else if whittle.CodeOf(err) == whittle.Canceled || errors.Is(err, context.Canceled) {
		p.held, p.heldBytes = nil, 0 // they were not sent
	}
	if p.at.Next != began.Next || err != nil {
		fmt.Fprintf(p.s.out, "partition %s: go on with --from %s\n", part.Name, formatPosition(stream.Position{Partition: part.Name, Offset: p.at.Next}))
	}
	if n := len(p.at.Beyond); n > 0 && p.state.path == "" {
		fmt.Fprintf(p.s.out, "partition %s: %d events behind that are on the other side already, and would be sent again under their ids\n", part.Name, n)
	}
	return err
}

// hold keeps what was read until there is enough to send.
func (p *replay) hold(ctx context.Context, b []stream.Entry) error {
	for i := range b {
		if p.beyond[b[i].Position.Offset] {
			continue
		}
		if p.limited && p.left == 0 {
			return errEnough
		}
		e := b[i]
		e.Value, e.Header = bytes.Clone(e.Value), slices.Clone(e.Header)
		p.held, p.heldBytes = append(p.held, e), p.heldBytes+len(e.Value)
		if p.limited {
			p.left--
		}
	}
	if len(p.held) < maxHeld && p.heldBytes < maxHeldBytes {
		return nil
	}
	return p.flush(ctx)
}

// flush sends what is held, and notes how far the partition is, also after an
// error.
func (p *replay) flush(ctx context.Context) error {
	if len(p.held) == 0 {
		return nil
	}
	sending, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	done := make([]bool, len(p.held))
	rejected, err := p.to.send(sending, p.held, done)
	for _, r := range rejected {
		if p.rejected++; p.rejected <= shownCorrupt {
			fmt.Fprintf(p.s.err, "ingest: %s was rejected: %s\n", formatPosition(r.at), r.reason)
		}
	}
	p.sent -= len(rejected)
	p.at.Beyond = p.at.Beyond[:0]
	gap := false
	for i := range p.held {
		offset := p.held[i].Position.Offset
		switch {
		case !done[i] && !gap:
			gap, p.at.Next = true, offset
		case !gap:
			p.at.Last, p.at.Fingerprint = offset, p.held[i].Fingerprint()
		case done[i] && gap:
			p.at.Beyond = append(p.at.Beyond, offset)
		}
		if done[i] {
			p.sent++
		}
	}
	if !gap {
		p.at.Next = stream.NextOffset(p.held[len(p.held)-1].Position.Offset)
		for p.beyond[p.at.Next] {
			p.at.Next = stream.NextOffset(p.at.Next)
		}
	}
	for offset := range p.beyond { // what another run had sent beyond all of this
		if stream.CompareOffsets(offset, p.at.Next) > 0 {
			p.at.Beyond = append(p.at.Beyond, offset)
		}
	}
	p.held, p.heldBytes = p.held[:0], 0
	return errors.Join(err, p.state.save())
}

func (p *replay) corrupt(e *stream.CorruptError) error {
	p.broken++
	fmt.Fprintf(p.s.err, "ingest: %v\n", e)
	return nil
}

package main

import (
	"context"
	"fmt"
	"time"

	"whittle"
	"whittle/systems/daemon"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/relay"
)

type moveVerb struct {
	streamFlags
	To      streamFlags `embed:"" prefix:"to-" envprefix:"TO_"`
	State   string      `default:"ingest-move" placeholder:"DIR" help:"Folder that remembers how far the move is (${default}); with the same one an ended move goes on."`
	Refused string      `placeholder:"DIR" help:"Folder of a log for events that the other side refuses for good. Without it such an event ends the move."`
}

// Help returns the examples.
func (moveVerb) Help() string {
	return `Copies what a stream holds when it begins onto another one, in order by key. Then it reads both sides and compares them: counts, and a hash over ids, keys, headers and bytes. Exit status 1 where they are not the same, and it says which records differ. Ended or killed it goes on where it was, with the same --state.

Examples:
  ingest move --to-sink kafka --to-kafka-brokers localhost:9092 --to-kafka-topic events
  ingest move --data /var/lib/ingest --to-sink kinesis --to-kinesis-stream events --state /var/lib/ingest-move`
}

// Run moves and proves.
func (v *moveVerb) Run(ctx context.Context, s streams) error {
	if v.isSame(&v.To) {
		return whittle.Errorf(whittle.Invalid, "the --to flags name the stream that is to be moved").
			WithHint("for example --to-sink kafka --to-kafka-brokers localhost:9092")
	}
	if v.To.isUnsaid() {
		return errNoTarget
	}
	if v.To.keepsNoHeaders() {
		return whittle.Errorf(whittle.Invalid, "--to-kinesis-raw puts bare bodies on the stream: that they arrived could not be shown").
			WithHint("leave it out, or copy with ingest replay, which compares nothing")
	}
	from, err := v.openForReading(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(from)
	to, err := v.To.open(ctx)
	if err != nil {
		return err
	}
	defer closeQuietly(to)
	o := relay.MoveOptions{
		Dir: v.State, Label: v.describe() + " → " + v.To.describe(), Log: daemon.Logger(s.err, 0, false),
		Progress: func(p relay.Progress) { printProgress(s, p) },
	}
	if v.Refused != "" {
		dead, err := embedded.Open(v.Refused, embedded.Options{})
		if err != nil {
			return err
		}
		defer closeQuietly(dead)
		o.Dead = dead
	}
	begun := time.Now()
	moved, err := relay.Move(ctx, from, to, o)
	if err != nil && moved.Source.Records == 0 {
		return err
	}
	printMoved(s, moved, time.Since(begun))
	if err == nil {
		err = v.missing()
	}
	return err
}

func printProgress(s streams, p relay.Progress) {
	of := ""
	if p.Of > 0 {
		of = fmt.Sprintf(" of %d", p.Of)
	}
	fmt.Fprintf(s.err, "%s: %d%s", p.Phase, p.Done, of)
	if p.Records > 0 {
		fmt.Fprintf(s.err, ", %.0f events/s", p.Records)
	}
	for _, t := range p.Troubles {
		fmt.Fprintf(s.err, "; %s fails since %s: %v", t.At, t.Since.Format(time.TimeOnly), t.Err)
	}
	fmt.Fprintln(s.err)
}

// maxShownDiffering is how many differing records are named.
const maxShownDiffering = 20

func printMoved(s streams, m relay.Moved, took time.Duration) {
	for _, side := range []struct {
		name  string
		proof relay.Proof
	}{{"source", m.Source}, {"target", m.Target}} {
		p := side.proof
		fmt.Fprintf(s.out, "%s: %d records, %d bytes, content %s, order %s over %d keys\n", side.name, p.Records, p.Bytes, p.Content, p.Order, p.Keys)
	}
	fmt.Fprintf(s.out, "missing %d, altered %d, corrupt at the source %d, refused %d, doubled at the target %d, in %v\n",
		m.Missing, m.Altered, m.Corrupt, m.Dead, m.Duplicates, took.Round(time.Millisecond))
	for i, p := range m.Positions {
		if i == maxShownDiffering {
			fmt.Fprintf(s.out, "and %d more\n", len(m.Positions)-i)
			break
		}
		fmt.Fprintf(s.out, "differs: %s\n", formatPosition(p))
	}
}

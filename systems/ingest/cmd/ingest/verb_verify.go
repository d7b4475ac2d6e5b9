package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

type verifyVerb struct {
	streamFlags
	deadFlags
	From string `placeholder:"POSITION" help:"Begin at a position, such as 0/123."`
}

// Help returns the examples.
func (verifyVerb) Help() string {
	return `Reads every record and compares it with the checksum that was taken when it came in. Prints what is there by partition, and each corrupt record. Of an embedded log every bit is read, also while it is in use, and its end is compared with the end mark in its file. The log of the dead letters is read the same way, where there is one. Exit status 1 if anything is damaged or missing.

Examples:
  ingest verify
  ingest verify --data /var/lib/ingest
  ingest verify --sink kinesis --kinesis-stream events`
}

// shownCorrupt is how many corrupt records are named one by one.
const shownCorrupt = 20

// Run reads it all, and the dead letters also when the stream falls short.
func (v *verifyVerb) Run(ctx context.Context, s streams) error {
	err := v.stream(ctx, s)
	dead := v.deadLetters(ctx, s)
	if err != nil && dead != nil {
		fmt.Fprintf(s.err, "ingest: %v\n", dead)
	}
	return cmp.Or(err, dead)
}

// deadLetters reads every bit of the dead letters' log. There need not be one.
func (v *verifyVerb) deadLetters(ctx context.Context, s streams) error {
	dir := v.folder(v.Data, "")
	if dir == noDead {
		return nil
	}
	r, err := embedded.Verify(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("verify dead letters: %w", err)
	}
	fmt.Fprintf(s.out, "dead letters in %s:\n", dir)
	if err := judge(s, &r); err != nil {
		return fmt.Errorf("verify dead letters: %w", err)
	}
	return nil
}

func (v *verifyVerb) stream(ctx context.Context, s streams) error {
	if v.Sink == "embedded" && v.From == "" {
		return v.everyBit(ctx, s)
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
	bad := 0
	for _, p := range parts {
		records, bytes := 0, int64(0)
		first, end := "", ""
		err := stream.Walk(ctx, src, p, func(batch []stream.Entry) error {
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
	var gone *whittle.Error
	if v.Sink == "embedded" {
		e, err := embedded.EndOf(v.Data)
		if err != nil {
			return err
		}
		gone = printEnd(s, &e)
	}
	if bad > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d corrupt records%s", bad, also(gone)).
			WithHint("they are named above; everything else is as it was sent")
	}
	if gone != nil {
		return gone
	}
	return nil
}

// everyBit reads an embedded log as it lies on the disk, in use or not: its
// frames and padding too, which no record's checksum covers.
func (v *verifyVerb) everyBit(ctx context.Context, s streams) error {
	r, err := embedded.Verify(ctx, v.Data)
	if err != nil {
		return v.noLog(err)
	}
	return judge(s, &r)
}

// judge prints what was read of a log, and gives an error where any of it is
// damaged or missing.
func judge(s streams, r *embedded.Report) error {
	for i, c := range r.Corruption {
		if i == shownCorrupt {
			break
		}
		fmt.Fprintf(s.out, "%v\n", c)
	}
	fmt.Fprintf(s.out, "%d records intact in %d segments, %d bytes read, offsets %s up to %s\n",
		r.Records, r.Segments, r.Bytes, orNone(r.First.Offset), orNone(r.Next.Offset))
	if r.Torn > 0 && r.End.Missing == 0 {
		fmt.Fprintf(s.out, "%d bytes behind the last commit belong to nothing that was acknowledged\n", r.Torn)
	}
	gone := printEnd(s, &r.End)
	if gone == nil && r.Unexplained > 0 {
		gone = whittle.Errorf(whittle.FallsShort, "%d bytes behind the last record are none, and nothing that a crash leaves: they may have been records of the last second", r.Unexplained).
			WithHint("started on it, ingest keeps a copy of them in a file *.aside")
	}
	switch {
	case r.Corrupt > 0:
		return whittle.Errorf(whittle.FallsShort, "%d corrupt records, %d other places damaged%s", r.Corrupt, r.Damaged, also(gone)).
			WithHint("the records are named above; everything else is as it was sent")
	case gone != nil:
		return gone
	case r.Damaged > 0:
		return whittle.Errorf(whittle.FallsShort, "%d places are damaged; no record is", r.Damaged).
			WithHint("every record is as it was sent, but the disk is not to be trusted: move the log")
	}
	return nil
}

// printEnd says how far the log went by its end mark, and gives an error where
// records of it are missing.
func printEnd(s streams, e *embedded.End) *whittle.Error {
	switch {
	case !e.Marked, e.Stale:
	case e.Closed:
		fmt.Fprintf(s.out, "the log was closed with its last record before offset %s\n", e.Reached.Offset)
	default:
		fmt.Fprintf(s.out, "the log is in use or was not closed; it had reached offset %s, and records of the second behind that may be missing unseen\n", e.Reached.Offset)
	}
	return missingOf(e)
}

// missingOf is an error where records of a log are missing by its end mark.
func missingOf(e *embedded.End) *whittle.Error {
	const hint = "look for the files *.segment that were in this folder. Started again, ingest keeps the offsets of what is missing free"
	switch {
	case !e.Marked:
		return whittle.Errorf(whittle.FallsShort, "there is no end mark (the file END), so that nobody can say whether records are missing at the end").
			WithHint("it is lost, or the log was last opened by an earlier ingest: ingest started on it writes one, and warns")
	case len(e.Misplaced) > 0:
		return whittle.Errorf(whittle.FallsShort, "what is in %s is out of its place, and is not read", strings.Join(e.Misplaced, ", ")).
			WithHint("was it copied or renamed, or is it another log's? The files *.segment of one log belong into one folder, each under its own name")
	case len(e.Foreign) > 0:
		return whittle.Errorf(whittle.FallsShort, "%s are another log's: this one had others in their place", strings.Join(e.Foreign, ", ")).
			WithHint("were files copied into the folder? Put this log's own back, and do not write to it before")
	case e.Missing > 0:
		return whittle.Errorf(whittle.FallsShort, "%d records are missing at the end of the log: it ends before offset %s, and had reached %s",
			e.Missing, e.Next.Offset, e.Reached.Offset).WithHint(hint)
	case e.MissingFirst > 0:
		return whittle.Errorf(whittle.FallsShort, "%d records are missing at the beginning of the log, which nobody dropped", e.MissingFirst).WithHint(hint)
	case e.Stale:
		return whittle.Errorf(whittle.FallsShort, "the end mark (the file END) is older than the log: it says %s, and the log ends before offset %s", e.Reached.Offset, e.Next.Offset).
			WithHint("was it taken from a backup? Nobody can say whether records are missing at the end; started on it, ingest goes on behind what is there and marks it anew")
	case e.Damaged > 0:
		return whittle.Errorf(whittle.FallsShort, "the end mark (the file END) is damaged: it may have said that the log went further than offset %s", e.Next.Offset).
			WithHint("nobody can say whether records are missing at the end; started on it, ingest goes on behind what is there and marks it anew")
	}
	return nil
}

// missingIn is missingOf for who reads the log in a folder, or says that there is
// none. Where that cannot be looked at, the reader gets the error.
func missingIn(dir string) error {
	e, err := embedded.EndOf(dir)
	if whittle.CodeOf(err) == whittle.FallsShort {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if gone := missingOf(&e); gone != nil {
		return gone
	}
	return nil
}

// missing is missingIn of an embedded log.
func (f *streamFlags) missing() error {
	if f.Sink != "embedded" {
		return nil
	}
	return missingIn(f.Data)
}

// also adds an error to the words of another.
func also(err *whittle.Error) string {
	if err == nil {
		return ""
	}
	return "; " + err.Error()
}

func orNone(s string) string { return cmp.Or(s, "none") }

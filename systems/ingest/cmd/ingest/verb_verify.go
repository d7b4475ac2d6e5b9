package main

import (
	"context"
	"fmt"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/stream/embedded"
)

type verifyVerb struct{ logPlace }

// Help returns the examples.
func (verifyVerb) Help() string {
	return `Reads every bit of an embedded log, also while a server writes it, and compares it with its checksums.
Prints what is there, and each corrupt record. Exit status 1 if anything is damaged. The log of the dead letters is
one, too.

Examples:
  ingest verify
  ingest verify --data /var/lib/ingest
  ingest verify --data /var/lib/ingest/dead`
}

// shownCorrupt is how many corrupt records are named one by one.
const shownCorrupt = 20

// Run reads it all.
func (v *verifyVerb) Run(ctx context.Context, s streams) error {
	if err := v.check(); err != nil {
		return err
	}
	r, err := embedded.Verify(ctx, v.Data)
	if err != nil {
		return v.noLog(err)
	}
	for _, c := range r.Corruption[:min(len(r.Corruption), shownCorrupt)] {
		fmt.Fprintf(s.out, "%v\n", c)
	}
	fmt.Fprintf(s.out, "%s intact in %s, %d bytes read, offsets %d up to %d\n",
		units.Counted(int64(r.Records), "record"), units.Counted(r.Segments, "segment"), r.Bytes, r.First, r.Next)
	if r.Torn > 0 {
		fmt.Fprintf(s.out, "%d bytes behind the last commit belong to nothing that was acknowledged\n", r.Torn)
	}
	switch {
	case r.Corrupt > 0:
		return whittle.Errorf(whittle.FallsShort, "%d corrupt records, %d other places damaged", r.Corrupt, r.Damaged).
			WithHint("the records are named above; everything else is as it was sent")
	case r.Damaged > 0:
		return whittle.Errorf(whittle.FallsShort, "%d places are damaged; no record is", r.Damaged).
			WithHint("every record is as it was sent, but the disk is not to be trusted: copy the folder to another one")
	}
	return nil
}

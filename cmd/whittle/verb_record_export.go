package main

import (
	"context"
	"errors"
	"io"
	"os"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/units"
	"whittle/record/capture"
	"whittle/record/har"
	"whittle/record/journal"
	"whittle/record/show"
)

type recordExport struct {
	Log string `arg:"" placeholder:"DIR" help:"A folder that was recorded into, or one of its segments."`
	HAR string `required:"" name:"har" placeholder:"FILE" help:"The archive to write (\"-\": standard output)."`
	show.Choice
	Limit int64 `bound:">=0" help:"At most so many; 0: all."`
}

// Help gives the examples.
func (recordExport) Help() string {
	return `Writes an HTTP Archive (HAR 1.2), which browsers' network panels and many tools open. What was redacted stays redacted. Bodies lose their compression, as the form has it.

Examples:
  whittle record export recorded --har recorded.har
  whittle record export recorded --har errors.har --route 'POST /Count' --status 5xx --from 10m
  whittle record export recorded --har - --limit 100 | jq '.log.entries[].request.url'`
}

// Run exports the exchanges.
func (v *recordExport) Run(ctx context.Context, s cmdline.Streams) error {
	filter, err := v.Filter()
	if err != nil {
		return err
	}
	r, err := journal.Open(v.Log)
	if err != nil {
		return err
	}
	defer r.Close()
	screen := cmdline.NewScreen(s, v.HAR)
	n := int64(0)
	if v.HAR == "-" {
		n, err = v.export(ctx, s.Out, r, filter, screen)
	} else {
		err = writePrivate(v.HAR, func(w io.Writer) error {
			n, err = v.export(ctx, w, r, filter, screen)
			return err
		})
	}
	screen.Clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if v.HAR == "-" {
		screen.Say("%s on standard output", units.Counted(n, "exchange"))
	} else {
		screen.Say("%s in %s", units.Counted(n, "exchange"), v.HAR)
	}
	show.SayDamages(screen, r.Damages())
	if n == 0 && err == nil {
		return whittle.Errorf(whittle.FallsShort, "record export: no exchange of %s is like that", v.Log).
			WithHint("whittle record ls " + v.Log + " shows what there is")
	}
	return err
}

// export writes what is asked for. Interrupted, it still ends the archive.
func (v *recordExport) export(ctx context.Context, w io.Writer, r *journal.Reader, filter journal.Filter, screen *cmdline.Screen) (n int64, err error) {
	out := har.NewWriter(w)
	for v.Limit <= 0 || n < v.Limit {
		var e *capture.Entry
		if e, err = r.Next(ctx, filter); err != nil {
			break
		}
		if !v.Takes(&e.Response) {
			continue
		}
		if err := out.Write(e); err != nil {
			return n, whittle.Errorf(whittle.Unavailable, "write HAR: %w", err)
		}
		if n++; n%1000 == 0 {
			screen.Progress("%d exchanges", n)
		}
	}
	if failed := out.Close(); failed != nil {
		return n, whittle.Errorf(whittle.Unavailable, "write HAR: %w", failed)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// writePrivate makes a file that nobody else may read of what write writes.
func writePrivate(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "write HAR: %w", err)
	}
	err = write(f)
	if failed := f.Close(); failed != nil {
		err = errors.Join(err, whittle.Errorf(whittle.Unavailable, "write HAR: %w", failed))
	}
	return err
}

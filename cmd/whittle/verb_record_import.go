package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/units"
	"whittle/record/capture"
	"whittle/record/har"
	"whittle/record/journal"
	"whittle/record/recorder"
	"whittle/record/show"
)

type recordImport struct {
	HAR string `arg:"" placeholder:"FILE" help:"A HAR file that a browser or a proxy saved (\"-\": standard input)."`
	Dir string `arg:"" placeholder:"DIR" help:"The folder to record into; created if missing."`
	recorder.Flags
	JSON string `name:"json" placeholder:"FILE" help:"Write what was imported, and what was not, as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (recordImport) Help() string {
	return `Reads HAR files of any length, as Chrome, Firefox, Safari, mitmproxy, Charles, Fiddler and others save
them, and redacts them like everything else that is recorded. Entries that are not an exchange with a server (from the
browser's cache, WebSockets, data: URLs) are left out and listed. If DIR already has a log, the exchanges are added to
it. Several sites are named: take out those that the monolith does not serve.

Exit status: 0 imported; 1 nothing was imported; 2 the file is not a HAR, or ends early: the entries before that are kept.

Examples:
  whittle record import shop.har recorded
  whittle record import shop.har recorded --redact-field phone --redact-path '$.user.address'
  gunzip -c shop.har.gz | whittle record import - recorded`
}

// imported is what import says in JSON.
type imported struct {
	Format    string    `json:"format"`
	Exchanges int       `json:"exchanges"`
	LeftOut   int       `json:"left_out"`
	Why       []leftOut `json:"why"` // of the first
	Disorder  int       `json:"out_of_order"`
	last      time.Time
}

type leftOut struct {
	Entry int    `json:"entry"`
	Why   string `json:"why"`
}

// maxLeftOut bounds how many entries are listed that were left out.
const maxLeftOut = 100

func (im *imported) leaveOut(entry int, why string) {
	if im.LeftOut++; len(im.Why) < maxLeftOut {
		im.Why = append(im.Why, leftOut{entry, why})
	}
}

// Run imports the file.
func (v *recordImport) Run(ctx context.Context, s cmdline.Streams) error {
	in, size, err := v.open(s)
	if err != nil {
		return err
	}
	defer in.Close()
	redact, err := v.Redactor(v.Dir)
	if err != nil {
		return err
	}
	// A file of long ago is imported to be kept.
	w, err := journal.Create(v.Dir, journal.Options{MaxAge: -1, MaxBytes: -1, About: redact.Describe().JSON()})
	if err != nil {
		return err
	}
	screen := cmdline.NewScreen(s, v.JSON)
	im := &imported{Format: "whittle.import/1", Why: []leftOut{}}
	r := har.NewReader(in)
	err = im.run(ctx, r, w, func(e *capture.Entry) {
		redact.Request(&e.Request)
		redact.Response(&e.Response)
	}, func(done int64) {
		if size > 0 {
			screen.Progress("%d exchanges, %s of %s", im.Exchanges, units.Size(done), units.Size(size))
		} else {
			screen.Progress("%d exchanges, %s", im.Exchanges, units.Size(done))
		}
	})
	err = errors.Join(err, w.Close())
	screen.Clear()
	im.say(screen, v.Dir)
	if sites := r.Sites(); sites != "" {
		screen.Say("note: %s", sites)
	}
	err = errors.Join(err, cmdline.WriteJSON(s, v.JSON, im))
	if err == nil && im.Exchanges == 0 {
		err = whittle.Errorf(whittle.FallsShort, "record import: %s has nothing that can be imported", v.HAR)
	}
	return err
}

// open opens the archive, and says how long it is where that is known.
func (v *recordImport) open(s cmdline.Streams) (io.ReadCloser, int64, error) {
	if v.HAR == "-" {
		return io.NopCloser(s.In), 0, nil
	}
	f, err := os.Open(v.HAR)
	if err != nil {
		return nil, 0, whittle.Errorf(whittle.NotFound, "read HAR: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", v.HAR)
	}
	if err != nil {
		f.Close()
		return nil, 0, whittle.Errorf(whittle.Invalid, "read HAR: %w", err)
	}
	return f, info.Size(), nil
}

// run takes exchanges over until the archive ends.
func (im *imported) run(ctx context.Context, r *har.Reader, w *journal.Writer, redact func(*capture.Entry), progress func(done int64)) error {
	// Connections of this archive must not be taken for those of another one in
	// the same log.
	base := uint64(rand.Uint32()>>1) << 32
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := r.Next()
		var left *har.Skipped
		switch {
		case errors.As(err, &left):
			im.leaveOut(left.Entry, left.Why)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if e.Conn != 0 {
			e.Conn |= base
		}
		redact(e)
		if err := w.Append(e); errors.Is(err, capture.ErrEntry) {
			im.leaveOut(r.Entries(), err.Error())
			continue
		} else if err != nil {
			return err
		}
		if e.At.Before(im.last) {
			im.Disorder++
		}
		im.last = e.At
		if im.Exchanges++; im.Exchanges%256 == 0 {
			progress(r.Offset())
		}
	}
}

func (im *imported) say(screen *cmdline.Screen, dir string) {
	screen.Say("%s into %s", units.Counted(im.Exchanges, "exchange"), dir)
	if im.LeftOut > 0 {
		screen.Say("%s left out:", units.Counted(im.LeftOut, "entry"))
	}
	const most = 20
	for i, l := range im.Why {
		if i == most {
			screen.Say("  … and %d more", im.LeftOut-most)
			break
		}
		screen.Say("  entry %d: %s", l.Entry, show.Harmless(l.Why))
	}
	if im.Disorder > 0 {
		screen.Say("%s began before the one listed in front of it; the file's order was kept", units.Counted(im.Disorder, "exchange"))
	}
}

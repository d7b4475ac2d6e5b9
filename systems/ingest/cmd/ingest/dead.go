package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// deadFlags say where the dead letters are.
type deadFlags struct {
	Dead string `group:"stream" env:"INGEST_DEAD" placeholder:"DIR" help:"Folder of what was rejected. Default: dead in --log-first or --data. \"none\" keeps none."`
}

// deadBytes bounds the log of the dead letters.
type deadBytes struct {
	DeadBytes units.Bytes `group:"stream" env:"INGEST_DEAD_BYTES" default:"64MiB" placeholder:"SIZE" help:"Drop the oldest dead letters beyond this size (${default}). 0: never."`
}

// noDead switches the dead letters off.
const noDead = "none"

func (f *deadFlags) folder(data, logFirst string) string {
	switch {
	case f.Dead != "":
		return f.Dead
	case logFirst != "":
		return filepath.Join(logFirst, "dead")
	}
	return filepath.Join(data, "dead")
}

// deadSegment is how much space the log of the dead letters takes at once, at
// least.
const deadSegment = 4 << 20

// openDead opens the log of what is rejected. It takes no more than --dead-bytes, so
// that nobody can fill the disk by it.
func (v *serveVerb) openDead(log *slog.Logger) (stream.Stream, error) {
	dir := v.folder(v.Data, v.LogFirst)
	if dir == noDead {
		return nil, nil //nolint:nilnil // there is none
	}
	longest, err := longestRecord(max(v.MaxEvent, v.MaxImport, v.MaxBatch), deadletter.Overhead+metadataOverhead)
	if err != nil {
		return nil, err
	}
	l, err := embedded.Open(dir, embedded.Options{
		MaxRecord: longest, MaxBatch: 1 << 20, SegmentBytes: deadSegment + 4*int64(longest),
		Reserve: v.reserve(), RetainBytes: int64(v.DeadBytes), Log: log,
	})
	if err != nil && v.Dead == "" && v.LogFirst == "" && v.Sink != "embedded" {
		log.Warn("what is rejected is not kept: a server whose sink is elsewhere needs no disk, and there is no folder for dead letters; name one by --dead", "err", err)
		return nil, nil //nolint:nilnil // there is none
	}
	return opened(l, err)
}

// deadPlace says which server's dead letters.
type deadPlace struct {
	Data     string `group:"stream" env:"INGEST_DATA" default:"ingest-data" placeholder:"DIR" help:"The server's folder (${default})."`
	LogFirst string `group:"stream" env:"INGEST_LOG_FIRST" placeholder:"DIR" help:"The server's --log-first."`
	deadFlags
	Source string `placeholder:"NAME" help:"Only those of one source."`
	From   uint64 `placeholder:"N" help:"Only the letter of this number and those behind it."`
}

// letter is a dead letter with its name, which is its number.
type letter struct {
	deadletter.Letter
	name string
}

// each walks over the letters, damaged ones aside, which are told and make the exit
// status 1.
func (v *deadPlace) each(ctx context.Context, corrupt func(*stream.CorruptError) error, visit func(*letter) error) error {
	dir := v.folder(v.Data, v.LogFirst)
	l, err := embedded.Open(dir, embedded.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return whittle.Errorf(whittle.NotFound, "there are no dead letters in %s", dir).
			WithHint("name the server's folder by --data or --log-first, or that of the dead letters by --dead. What the sink behind --log-first DIR refused is in DIR/refused: ingest tail --data DIR/refused")
	}
	if err != nil {
		return err
	}
	defer closeQuietly(l)
	bad := 0
	err = l.Walk(ctx, v.From, func(e *stream.Entry) error {
		d, err := deadletter.Read(&e.Record)
		if err != nil || v.Source != "" && v.Source != d.Source {
			return err
		}
		return visit(&letter{d, e.Position.Offset})
	}, func(e *stream.CorruptError) error {
		bad++
		return corrupt(e)
	})
	if err == nil && bad > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d dead letters cannot be read", bad)
	}
	return err
}

package main

import (
	"cmp"
	"log/slog"
	"path/filepath"

	"whittle/internal/units"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// deadFlags say where the dead letters are, and bound their log.
type deadFlags struct {
	Dead      string      `group:"stream" env:"INGEST_DEAD" placeholder:"DIR" help:"Folder of what was rejected, a log of its own. Default: dead in --log-first or --data. \"none\" keeps none."`
	DeadBytes units.Bytes `group:"stream" env:"INGEST_DEAD_BYTES" default:"64MiB" placeholder:"SIZE" help:"Drop the oldest dead letters beyond this size (${default}). 0: never."`
}

// noDead switches the dead letters off.
const noDead = "none"

// deadSegment is how much space the log of the dead letters takes at once, at least.
const deadSegment = 4 << 20

// openDead opens the log of what is rejected. It takes no more than --dead-bytes, so
// that nobody can fill the disk by it.
func (v *serveVerb) openDead(log *slog.Logger) (stream.Stream, error) {
	dir := cmp.Or(v.Dead, filepath.Join(cmp.Or(v.LogFirst, v.Data), "dead"))
	if dir == noDead {
		return nil, nil //nolint:nilnil // there is none
	}
	longest, err := longestRecord(max(v.MaxEvent, v.MaxImport, v.MaxBatch))
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

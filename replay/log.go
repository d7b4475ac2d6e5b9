package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"whittle"
	"whittle/capture"
	"whittle/capture/journal"
)

// OpenLog finds out what a path holds: a journal's folder, one of its segments,
// or a HAR file.
func OpenLog(path string) (Log, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "open log: %w", err).
			WithHint("give the folder that whittle record wrote, one of its segments, or a .har file")
	}
	r, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	return &journalLog{path: path}, r.Close()
}

// journalLog is a journal's folder, or one of its segments.
type journalLog struct {
	path   string
	damage []string
}

func (l *journalLog) Name() string     { return l.path }
func (l *journalLog) Damage() []string { return l.damage }

func (l *journalLog) Entries(ctx context.Context) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		r, err := journal.Open(l.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		defer func() {
			l.damage = l.damage[:0]
			for _, d := range r.Damages() {
				l.damage = append(l.damage, fmt.Sprintf("%s: %d bytes at %d could not be read: %s", d.Segment, d.Bytes, d.Offset, d.Why))
			}
		}()
		for {
			e, err := r.Next(ctx, journal.Filter{})
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(e.Clone(), nil) {
				return
			}
		}
	}
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"whittle"
	"whittle/record/capture"
	"whittle/record/har"
	"whittle/record/journal"
)

// OpenLog opens a journal's folder, one of its segments, or a HAR file.
func OpenLog(path string) (Log, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "open log: %w", err).
			WithHint("give the folder that whittle record wrote, one of its segments, or a .har file")
	}
	if !st.IsDir() && strings.EqualFold(filepath.Ext(path), ".har") {
		return &harLog{path: path}, nil
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
		defer func() {
			_ = r.Close() // it was only read
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

// harLog is an HTTP Archive, as browsers and proxies save it.
type harLog struct {
	path   string
	damage []string
}

// damageMost bounds the list of entries that were left out.
const damageMost = 20

func (l *harLog) Name() string     { return l.path }
func (l *harLog) Damage() []string { return l.damage }

func (l *harLog) Entries(ctx context.Context) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		f, err := os.Open(l.path)
		if err != nil {
			yield(nil, whittle.Errorf(whittle.Unavailable, "open log: %w", err))
			return
		}
		defer f.Close()
		l.damage = l.damage[:0]
		left, r := 0, har.NewReader(f)
		defer func() {
			if sites := r.Sites(); sites != "" {
				l.damage = append(l.damage, l.path+": "+sites)
			}
			if left > damageMost {
				l.damage = append(l.damage, fmt.Sprintf("%s left out", were(int64(left-damageMost), "more entry")))
			}
		}()
		for ctx.Err() == nil {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if one, ok := errors.AsType[*har.Skipped](err); ok {
				if left++; left <= damageMost {
					l.damage = append(l.damage, l.path+": left out "+one.Error())
				}
				continue
			}
			if err != nil {
				yield(nil, whittle.Errorf(whittle.Invalid, "read %s: %w", l.path, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

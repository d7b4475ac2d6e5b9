package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"whittle/record/capture"
)

// Listing is the contents of a log.
type Listing struct {
	Segments int
	// Bytes is the size of the segments on disk, Unpacked that of the entries
	// before compression.
	Bytes, Unpacked int64
	Entries         int64
	// First and Last are the times of the earliest and the latest entry; zero
	// where there is none.
	First, Last time.Time
	// Rows count the entries by route, method and path: the routes by name,
	// and of each the most frequent first.
	Rows []capture.Row
	// Parts counts the entries by what their writer described them as, oldest
	// first.
	Parts   []Part
	Damages []Damage
}

// Part counts consecutive entries with the same description.
type Part struct {
	// About is nil where there is no description, or it is damaged.
	About   []byte
	Entries int64
}

// maxParts bounds the parts of a listing; further entries count for the last
// one.
const maxParts = 100

// Progress receives how many of how many bytes are done.
type Progress func(done, total int64)

// List returns the contents of a folder or a segment file, read from the
// blocks' headers and summaries alone. It finds a damaged header or summary and
// a torn tail, but no damaged payload.
func List(ctx context.Context, path string) (*Listing, error) {
	return list(ctx, path, false, func(int64, int64) {})
}

// Verify reads all of a folder or a segment file and returns its contents; what
// cannot be read is among the damages.
func Verify(ctx context.Context, path string, p Progress) (*Listing, error) {
	return list(ctx, path, true, p)
}

func list(ctx context.Context, path string, deep bool, p Progress) (*Listing, error) {
	q, err := enqueue(path)
	if err != nil {
		return nil, err
	}
	if _, err := q.more(); err != nil {
		return nil, coded(err, "list log")
	}
	l := lister{deep: deep, progress: p, rows: make(map[rowKey]*capture.Row)}
	for _, s := range q.ahead {
		if info, err := os.Stat(s.path); err == nil {
			l.total += info.Size()
		}
	}
	for _, s := range q.ahead {
		if err := l.segment(ctx, s.path); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, coded(err, "list log")
		}
	}
	return l.listing(), nil
}

type rowKey struct{ route, method, path string }

// maxListed bounds the rows of a listing; further paths count for their route.
const maxListed = 10_000

type lister struct {
	deep        bool
	progress    Progress
	done, total int64

	l      Listing
	rows   map[rowKey]*capture.Row
	damage damages
	block  capture.BlockReader
	buf    []byte
}

func (l *lister) segment(ctx context.Context, path string) error {
	s, err := begin(path, l.damage.add)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // too old meanwhile
	}
	if err != nil {
		return err
	}
	defer s.close()
	l.l.Segments++
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		l.take(s, &h)
		l.progress(l.done+s.off, l.total)
	}
	if d, ok := s.rest(); ok {
		l.damage.add(d)
	}
	l.l.Bytes += s.size
	l.done += s.size
	return nil
}

// take counts one block and goes to the next.
func (l *lister) take(s *scan, h *capture.Header) {
	body, err := s.body(h, !l.deep, l.buf)
	l.buf = body
	if err == nil && l.deep {
		err = l.read(h, body)
	}
	if err != nil {
		s.skip(h, err)
		return
	}
	rows, err := h.Rows(body[:h.SummarySize()])
	if err != nil {
		// The entries are sound: they count, though their summary is lost.
		s.note(Damage{Segment: s.name, Offset: s.off + capture.HeaderLen, Bytes: int64(h.SummarySize()), Why: "the block's summary: " + err.Error()})
	}
	for i := range rows {
		l.row(&rows[i])
	}
	l.l.Entries += int64(h.Count)
	l.part(s.about).Entries += int64(h.Count)
	l.l.Unpacked += h.Unpacked()
	if l.l.First.IsZero() || h.First().Before(l.l.First) {
		l.l.First = h.First()
	}
	if h.Last().After(l.l.Last) {
		l.l.Last = h.Last()
	}
	s.step(h)
}

func (l *lister) part(about []byte) *Part {
	for i := range l.l.Parts {
		if bytes.Equal(l.l.Parts[i].About, about) {
			return &l.l.Parts[i]
		}
	}
	if len(l.l.Parts) < maxParts {
		l.l.Parts = append(l.l.Parts, Part{About: about})
	}
	return &l.l.Parts[len(l.l.Parts)-1]
}

// read checks that every entry of a block can be decoded.
func (l *lister) read(h *capture.Header, body []byte) error {
	if err := l.block.Reset(h, body); err != nil {
		return err
	}
	var e capture.Entry
	for {
		if err := l.block.Next(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (l *lister) row(r *capture.Row) {
	key := rowKey{r.Route, r.Method, r.Path}
	if l.rows[key] == nil && len(l.rows) >= maxListed {
		key = rowKey{route: r.Route}
	}
	if l.rows[key] == nil {
		l.rows[key] = &capture.Row{Route: key.route, Method: key.method, Path: key.path}
	}
	l.rows[key].Add(r)
}

func (l *lister) listing() *Listing {
	for _, r := range l.rows {
		l.l.Rows = append(l.l.Rows, *r)
	}
	slices.SortFunc(l.l.Rows, func(a, b capture.Row) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	l.l.Damages = l.damage.all
	return &l.l
}

func (f *Filter) entry(e *capture.Entry) bool {
	return (f.Route == "" || f.names(e.Route, e.Request.Method, capture.PathShape(e.Request.Target))) &&
		(f.From.IsZero() || !e.At.Before(f.From)) &&
		(f.To.IsZero() || e.At.Before(f.To))
}

// times reports whether a block may contain entries within the bounds.
func (f *Filter) times(h *capture.Header) bool {
	return (f.From.IsZero() || !h.Last().Before(f.From)) &&
		(f.To.IsZero() || h.First().Before(f.To))
}

// rows reports whether a block contains entries of the route.
func (f *Filter) rows(rows []capture.Row) bool {
	return f.Route == "" || slices.ContainsFunc(rows, func(r capture.Row) bool {
		return r.Path == "" || f.names(r.Route, r.Method, r.Path) // without a path it counts what does not fit into the summary
	})
}

// names reports whether the filter's route names an exchange by its route or, as a listing
// prints it, by its method and the shape of its path.
func (f *Filter) names(route, method, path string) bool {
	return route == f.Route || method+" "+path == f.Route || route == "" && f.Route == NoRoute
}

// maxDamages bounds the list of damages; reading goes on beyond it.
const maxDamages = 1000

// damages lists damages one by one up to the bound, and counts the others.
type damages struct{ all []Damage }

func (d *damages) add(one Damage) {
	if len(d.all) < maxDamages {
		d.all = append(d.all, one)
		return
	}
	last := &d.all[maxDamages-1]
	last.Bytes += one.Bytes
	last.Why = "this and more damage from here on"
}

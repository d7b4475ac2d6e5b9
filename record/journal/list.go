package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
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
	Rows []Row
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

// List reads all of a folder or a segment file and returns its contents; what cannot be
// read is among the damages.
func List(ctx context.Context, path string) (*Listing, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	l, rows := &Listing{}, map[rowKey]*Row{}
	for {
		e, err := r.Next(ctx, Filter{})
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		l.add(e)
		l.part(r.About()).Entries++
		count(rows, e)
	}
	l.Segments, l.Bytes, l.Unpacked, l.Damages = r.segments, r.bytes, r.unpacked, r.Damages()
	if r.seg != nil {
		l.Bytes += r.seg.size
	}
	for _, row := range rows {
		l.Rows = append(l.Rows, *row)
	}
	slices.SortFunc(l.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return l, nil
}

// add counts an entry.
func (l *Listing) add(e *capture.Entry) {
	l.Entries++
	if l.First.IsZero() || e.At.Before(l.First) {
		l.First = e.At
	}
	if e.At.After(l.Last) {
		l.Last = e.At
	}
}

func (l *Listing) part(about []byte) *Part {
	for i := range l.Parts {
		if bytes.Equal(l.Parts[i].About, about) {
			return &l.Parts[i]
		}
	}
	if len(l.Parts) < maxParts {
		l.Parts = append(l.Parts, Part{About: about})
	}
	return &l.Parts[len(l.Parts)-1]
}

// Row counts the entries of one route, method and path.
type Row struct {
	Route, Method string
	// Path is the target without its query, with * in place of segments that look like
	// ids. Empty together with Method: the paths beyond those that are listed.
	Path string
	// Count is how many entries, Bytes what their bodies come to.
	Count, Bytes int64
	// Statuses counts the responses by status; 0 are those that failed.
	Statuses map[int]int64
}

// Add counts the entries of another row in as well.
func (r *Row) Add(o *Row) {
	r.Count += o.Count
	r.Bytes += o.Bytes
	if r.Statuses == nil {
		r.Statuses = make(map[int]int64, len(o.Statuses))
	}
	for status, n := range o.Statuses {
		r.Statuses[status] += n
	}
}

type rowKey struct{ route, method, path string }

// maxListed bounds the rows of a listing; further paths count for their route.
const maxListed = 10_000

// count counts an entry in its row.
func count(rows map[rowKey]*Row, e *capture.Entry) {
	key := rowKey{e.Route, e.Request.Method, capture.PathShape(e.Request.Target)}
	if rows[key] == nil && len(rows) >= maxListed {
		key = rowKey{route: e.Route}
	}
	row := rows[key]
	if row == nil {
		row = &Row{Route: key.route, Method: key.method, Path: key.path, Statuses: map[int]int64{}}
		rows[key] = row
	}
	row.Count++
	row.Bytes += int64(len(e.Request.Body)) + int64(len(e.Response.Body))
	row.Statuses[e.Response.Status]++
}

// Descriptions are what the writers of a folder's or a file's segments said of their entries.
func Descriptions(path string) (all [][]byte, err error) {
	q, err := enqueue(path)
	if err != nil {
		return nil, err
	}
	for _, named := range q.ahead {
		s, err := begin(named.path, func(Damage) {})
		if errors.Is(err, fs.ErrNotExist) {
			continue // too old meanwhile
		}
		if err != nil {
			return nil, coded(err, "read log")
		}
		s.label()
		s.close()
		if s.about != nil {
			all = append(all, s.about)
		}
	}
	return all, nil
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

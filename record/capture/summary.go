package capture

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
)

// Row counts the entries of one route, method and path in a block.
type Row struct {
	Route, Method string
	// Path is the target without its query, with * in place of segments that
	// look like ids. Empty together with Method: the paths for which a block
	// has no row of their own.
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

// Bounds of a summary.
const (
	maxRows = 64
	maxPath = 256
)

type rowKey struct{ route, method, path string }

// summary is the rows of the block being filled.
type summary struct {
	rows map[rowKey]*Row
	size int // bytes at most, but for the next row
}

func (s *summary) add(e *Entry) {
	if s.rows == nil {
		s.rows = make(map[rowKey]*Row)
	}
	key := rowKey{e.Route, e.Request.Method, PathShape(e.Request.Target)}
	row := s.rows[key]
	if row == nil && (len(s.rows) >= maxRows || len(key.path)+len(key.method) > maxPath) {
		key = rowKey{route: e.Route}
		row = s.rows[key]
	}
	if row == nil {
		row = &Row{Route: key.route, Method: key.method, Path: key.path, Statuses: make(map[int]int64)}
		s.rows[key] = row
		s.size += len(key.route) + len(key.method) + len(key.path) + 64
	}
	row.Bytes += int64(len(e.Request.Body)) + int64(len(e.Response.Body))
	if row.Statuses[e.Response.Status]++; row.Statuses[e.Response.Status] == 1 {
		s.size += 8
	}
}

func (s *summary) clear() {
	clear(s.rows)
	s.size = 0
}

func (s *summary) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.rows)))
	keys := slices.SortedFunc(maps.Keys(s.rows), func(x, y rowKey) int {
		return cmp.Or(cmp.Compare(x.route, y.route), cmp.Compare(x.method, y.method), cmp.Compare(x.path, y.path))
	})
	for _, key := range keys {
		row := s.rows[key]
		b = appendText(b, row.Route)
		b = appendText(b, row.Method)
		b = appendText(b, row.Path)
		b = binary.AppendUvarint(b, uint64(row.Bytes))
		b = binary.AppendUvarint(b, uint64(len(row.Statuses)))
		for _, status := range slices.Sorted(maps.Keys(row.Statuses)) {
			b = binary.AppendUvarint(b, uint64(status))
			b = binary.AppendUvarint(b, uint64(row.Statuses[status]))
		}
	}
	return b
}

func parseSummary(b []byte) ([]Row, error) {
	c := cursor{b: b}
	// A row takes five bytes at least, a status two.
	rows := make([]Row, c.number(uint64(len(b)/5)))
	for i := range rows {
		row := &rows[i]
		row.Route = string(c.bytes(MaxText))
		row.Method = string(c.bytes(maxPath))
		row.Path = string(c.bytes(maxPath))
		row.Bytes = int64(c.number(math.MaxInt64))
		row.Statuses = make(map[int]int64)
		for range c.number(uint64(len(c.b) / 2)) {
			status := int(c.number(maxStatus))
			n := int64(c.number(math.MaxUint32))
			row.Statuses[status] += n
			row.Count += n
		}
		if c.bad {
			break
		}
	}
	if c.bad || len(c.b) > 0 {
		return nil, errEntry
	}
	return rows, nil
}

// PathShape is a target's path with * for each segment that looks like an id.
func PathShape(target string) string {
	path, _, _ := strings.Cut(target, "?")
	var made strings.Builder
	from := 0 // what is not yet in made
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			end = len(path)
		} else {
			end += at
		}
		if looksLikeID(path[at:end]) {
			made.WriteString(path[from:at])
			made.WriteByte('*')
			from = end
		}
		at = end + 1
	}
	if from == 0 && made.Len() == 0 {
		return path
	}
	made.WriteString(path[from:])
	return made.String()
}

// longID is from how many characters on letters with digits among them, and
// nothing else, are taken for an id and not for a name such as "oauth2".
const longID = 16

// looksLikeID says whether a path's segment is a number, a UUID, a hash or the
// like.
func looksLikeID(segment string) bool {
	digits, hex, others := 0, 0, 0
	for i := range len(segment) {
		switch c := segment[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F', c == '-':
			hex++
		case 'g' <= c && c <= 'z', 'G' <= c && c <= 'Z', c == '_':
			others++
		default:
			return false
		}
	}
	switch {
	case digits == 0:
		return false
	case others == 0:
		return hex == 0 || digits+hex >= longID/2
	}
	return digits >= 2 && len(segment) >= longID
}

package har

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"whittle"
	"whittle/record/capture"
)

// maxEntry bounds one entry's JSON, in bytes. A body within the log's bound
// fits, as base64 or as text with few escapes.
const maxEntry = 4 * capture.MaxBody

// maxConnections bounds how many connections are tracked.
const maxConnections = 100_000

// maxSites bounds how many sites are named.
const maxSites = 5

// Skipped is the error of an entry that the log cannot hold: it is left out,
// and the next one can be read.
type Skipped struct {
	// Entry counts from 1.
	Entry int
	Why   string
}

// Error names the entry for a person who looks for it in the file.
func (s *Skipped) Error() string { return fmt.Sprintf("entry %d: %s", s.Entry, s.Why) }

// Reader reads an archive's exchanges, one at a time.
type Reader struct {
	in    window
	json  *json.Decoder
	bom   int64 // bytes of the byte order mark
	begun bool
	ended error // what every further call says
	n     int
	buf   json.RawMessage
	conns map[text]uint64
	sites []string // that the exchanges went to, one more than maxSites at most
}

// NewReader reads from r, which it does not close.
func NewReader(r io.Reader) *Reader {
	out := &Reader{in: window{r: bufio.NewReaderSize(r, 64<<10)}, conns: make(map[text]uint64)}
	out.json = json.NewDecoder(&out.in)
	return out
}

// errSyntax is the error of unexpected JSON, errLong of a value that is too long.
var (
	errSyntax = errors.New("it is not JSON as a HAR has it")
	errLong   = fmt.Errorf("it is longer than %d MiB", maxEntry>>20)
)

// window lets the decoder read as much as one value may have.
type window struct {
	r    *bufio.Reader
	left int
}

// Read reads at most what is left.
func (w *window) Read(b []byte) (int, error) {
	if w.left <= 0 {
		return 0, errLong
	}
	n, err := w.r.Read(b[:min(len(b), w.left)])
	w.left -= n
	return n, err
}

// Next returns the next exchange, which the caller owns, or io.EOF after the
// last one. A *Skipped concerns one entry. Any other error is final: the file
// cannot be read from some entry on.
func (r *Reader) Next() (*capture.Entry, error) {
	if r.ended != nil {
		return nil, r.ended
	}
	e, err := r.next()
	if _, one := errors.AsType[*Skipped](err); err != nil && !one {
		if !errors.Is(err, io.EOF) {
			err = r.place(err)
		}
		r.ended = err
	}
	return e, err
}

// Offset is how many bytes of the file are done.
func (r *Reader) Offset() int64 { return r.bom + r.json.InputOffset() }

// Entries is how many entries were read, those that were skipped among them.
func (r *Reader) Entries() int { return r.n }

// Sites names the sites to which the exchanges so far went, such as the monolith's and a payment
// service's; empty: to one.
func (r *Reader) Sites() string {
	named := slices.Clone(r.sites)
	if len(named) > maxSites {
		named[maxSites] = "others"
	}
	if len(named) < 2 {
		return ""
	}
	return "the requests went to " + strings.Join(named, ", ") + ": take out those that the monolith does not serve"
}

func (r *Reader) next() (*capture.Entry, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	r.in.left = maxEntry
	if !r.json.More() {
		if err := r.expect(']'); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	r.n++
	if cap(r.buf) > 8<<20 {
		r.buf = nil
	}
	if err := r.json.Decode(&r.buf); err != nil {
		return nil, ended(err)
	}
	var e entry
	err := json.Unmarshal(r.buf, &e)
	if odd, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, r.skip("%s is no JSON %s", cmp.Or(odd.Field, "it"), kind(odd.Type))
	}
	if err != nil {
		return nil, r.skip("%v", err)
	}
	return r.convert(&e)
}

// begin goes to the first entry.
func (r *Reader) begin() error {
	switch head, _ := r.in.r.Peek(4); {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = r.in.r.Discard(3) // it has been seen
		r.bom = 3
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return errors.New("it is compressed: gunzip it first")
	case string(head) == "PK\x03\x04":
		return errors.New("it is a zip file: the HAR is in it")
	}
	for _, name := range []string{"log", "entries"} {
		if err := r.enter(name); err != nil {
			return err
		}
	}
	r.begun = true
	return r.expect('[')
}

// enter goes into an object as far as behind the name of a member.
func (r *Reader) enter(name string) error {
	r.in.left = maxEntry
	if err := r.expect('{'); err != nil {
		return err
	}
	for r.json.More() {
		key, err := r.json.Token()
		if err != nil || key == name {
			return ended(err)
		}
		r.in.left = maxEntry
		if err := r.json.Decode(&r.buf); err != nil {
			return ended(err)
		}
	}
	if err := r.expect('}'); err != nil {
		return err
	}
	return errors.New("it has no log.entries")
}

// expect takes one token.
func (r *Reader) expect(want json.Delim) error {
	got, err := r.json.Token()
	if err == nil && got != want {
		err = errSyntax
	}
	return ended(err)
}

// ended says that a text that ends is cut off, and what is no JSON.
func ended(err error) error {
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		return fmt.Errorf("%w: %w", errSyntax, err)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// kind is what JSON calls a value of the type.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	default:
		return "object"
	}
}

func (r *Reader) skip(format string, args ...any) error {
	return &Skipped{Entry: r.n, Why: fmt.Sprintf(format, args...)}
}

// place says where reading came to its end.
func (r *Reader) place(err error) error {
	where := "before the first entry"
	if r.begun {
		where = fmt.Sprintf("at entry %d", max(1, r.n))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return whittle.Errorf(whittle.Invalid, "read HAR: the file ends %s, at byte %d", where, r.Offset()).
			WithHint("save it again; what stands before that was read")
	}
	return whittle.Errorf(whittle.Invalid, "read HAR: %s, at byte %d: %w", where, r.Offset(), err).
		WithHint("a HAR is what a browser's network panel or a proxy saves: {\"log\": {\"entries\": [...]}}")
}

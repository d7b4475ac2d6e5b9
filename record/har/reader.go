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

	"whittle"
	"whittle/record/capture"
)

// maxEntry bounds one entry's JSON, in bytes. A body within the log's bound
// fits, as base64 or as text with few escapes.
const maxEntry = 4 * capture.MaxBody

// maxConnections bounds how many connections are tracked.
const maxConnections = 100_000

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
	in    slicer
	begun bool
	ended error // what every further call says
	n     int
	buf   []byte
	conns map[text]uint64
}

// NewReader reads from r, which it does not close.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: slicer{r: bufio.NewReaderSize(r, 64<<10)}, conns: make(map[text]uint64)}
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
func (r *Reader) Offset() int64 { return r.in.off }

// Entries is how many entries were read, those that were skipped among them.
func (r *Reader) Entries() int { return r.n }

func (r *Reader) next() (*capture.Entry, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	more, err := r.in.more(r.n == 0, ']')
	if err != nil {
		return nil, err
	}
	if !more {
		return nil, io.EOF
	}
	r.n++
	kept, long, err := r.in.value(r.buf[:0], maxEntry)
	if err != nil {
		return nil, err
	}
	if r.buf = kept; cap(kept) > 8<<20 {
		r.buf = nil
	}
	if long {
		return nil, r.skip("it is longer than %d MiB", maxEntry>>20)
	}
	var e entry
	err = json.Unmarshal(kept, &e)
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
		r.in.off += 3
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return errors.New("it is compressed: gunzip it first")
	case string(head) == "PK\x03\x04":
		return errors.New("it is a zip file: the HAR is in it")
	}
	for _, name := range []string{"log", "entries"} {
		found, err := r.in.enter(name)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("it has no log.entries")
		}
	}
	r.begun = true
	return r.in.expect('[')
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
		return whittle.Errorf(whittle.Invalid, "read HAR: the file ends %s, at byte %d", where, r.in.off).
			WithHint("save it again; what stands before that was read")
	}
	return whittle.Errorf(whittle.Invalid, "read HAR: %s, at byte %d: %w", where, r.in.off, err).
		WithHint("a HAR is what a browser's network panel or a proxy saves: {\"log\": {\"entries\": [...]}}")
}

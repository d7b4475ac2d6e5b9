// Package state keeps each route's rollout position, evidence, ledger and time line in
// one file, over restarts. The file is written anew for each save and takes the place of the
// one before: a process that is killed at any moment leaves the whole of what was
// acknowledged last, or the whole of what was being written.
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"whittle"
	"whittle/internal/filelock"
)

const (
	// lockWait is how long Open waits for another process to let go.
	lockWait = time.Second
	// format begins the file, with its version and the sum of all that follows the line.
	format = "whittle state "
	// version is the layout of the file.
	version = "1"
)

// ErrCorrupt is in the chain of every error about bytes that are not what was
// written.
var ErrCorrupt = errors.New("the bytes are not what was written")

// Bounds of what is kept of one route.
const (
	// MaxTimeline is how many decisions are kept, the last ones.
	MaxTimeline = 500
	maxPart     = 8 << 20 // bytes of one part of a record
	maxName     = 1024    // bytes of a route's name
)

// Record is all that is kept of a route. The parts are opaque here.
type Record struct {
	// Epoch names what the evidence is about; other evidence must not be
	// continued under it.
	Epoch string
	// Rollout, Judge, Guard and Ledger are the rooms' own encodings.
	Rollout, Judge, Guard, Ledger []byte
	// Timeline is oldest first; only the last MaxTimeline are kept.
	Timeline []whittle.Decision
}

func encode(route string, r Record) ([]byte, error) {
	if route == "" || len(route) > maxName {
		return nil, whittle.Errorf(whittle.Invalid, "a route's name has 1 to %d bytes, not %d", maxName, len(route))
	}
	for _, part := range [][]byte{[]byte(r.Epoch), r.Rollout, r.Judge, r.Guard, r.Ledger} {
		if len(part) > maxPart {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "a part of the record has %d bytes; %d are the limit", len(part), maxPart)
		}
	}
	r.Timeline = r.Timeline[max(0, len(r.Timeline)-MaxTimeline):]
	return json.Marshal(r)
}

// Store is an open state file. Its methods may be called by several
// goroutines at once. Whoever opened it closes it.
type Store struct {
	path string
	// writing is held while the file is written.
	writing sync.Mutex
	rest    time.Duration // guarded by writing: how long the last write took

	mu      sync.Mutex // guards the following
	lock    *os.File   // nil: closed
	records map[string]json.RawMessage
	next    *batch // of what is to be written next; nil: nothing
}

// batch is the records that go to the disk together.
type batch struct {
	records map[string]json.RawMessage
	done    chan struct{}
	err     error
}

// Open opens the file at path, or makes it with mode 0600 together with the
// folder it is in. It waits one second at most for a file that another process
// holds, by a lock file next to it. Errors are *whittle.Error: Unavailable where another
// process holds the file, PermissionDenied, Unsupported for a later version's file, and
// Internal with ErrCorrupt in the chain for a damaged one.
func Open(path string) (*Store, error) {
	if path == "" {
		return nil, whittle.Errorf(whittle.Invalid, "open state: no path is given").WithField("state")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, openError(path, err)
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // or the file would take the link's place
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, openError(path, err)
	}
	s := &Store{path: path, lock: lock}
	if s.records, err = read(path); err == nil {
		err = write(path, s.records) // what cannot be written is found now, and the mode is set
	}
	if err != nil {
		_ = lock.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

var errInUse = errors.New("the file is in use by another process")

// lockFile opens and locks a file.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); filelock.Hold(f) != nil; time.Sleep(lockWait / 50) {
		if time.Since(begun) > lockWait {
			_ = f.Close()
			return nil, errInUse
		}
	}
	return f, nil
}

// read gives the records of a file: none where there is none, or an empty one.
func read(path string) (map[string]json.RawMessage, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return map[string]json.RawMessage{}, nil
	}
	if err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(b, []byte("\n"))
	rest, is := strings.CutPrefix(string(head), format)
	v, sum, _ := strings.Cut(rest, " ")
	if later := strings.Trim(v, "0123456789") == ""; is && later && v != "" && v != version {
		return nil, whittle.Errorf(whittle.Unsupported, "the file has format %q and this whittle knows %q", v, version).
			WithHint("start the whittle that wrote it, or name another file under state:")
	}
	var all map[string]json.RawMessage
	if !is || sum != sumOf(body) || json.Unmarshal(body, &all) != nil {
		return nil, ErrCorrupt
	}
	return all, nil
}

// Begins reports whether a file that begins so may be a state file, if a damaged one.
func Begins(head []byte) bool {
	return bytes.Contains(head, []byte(format)) || bytes.Contains(head, []byte(`"Epoch":`))
}

func sumOf(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

// write puts a file with the records in the place of the one at path.
func write(path string, records map[string]json.RawMessage) error {
	var body bytes.Buffer
	before := "{"
	for _, route := range slices.Sorted(maps.Keys(records)) {
		name, err := json.Marshal(route)
		if err != nil {
			return err
		}
		fmt.Fprintf(&body, "%s\n%s:%s", before, name, records[route])
		before = ","
	}
	if len(records) == 0 {
		body.WriteString(before)
	}
	body.WriteString("\n}\n")
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s%s %s\n%s", format, version, sumOf(body.Bytes()), body.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the next save would write over it
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = folder.Sync() // where a file system knows no such thing, the rename is on its own
	return folder.Close()
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// Load reads a route's record: the zero Record where none was saved.
func (s *Store) Load(route string) (r Record, err error) {
	s.mu.Lock()
	closed, b := s.lock == nil, s.records[route]
	s.mu.Unlock()
	switch {
	case closed:
		err = errClosed
	case b != nil:
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return Record{}, whittle.Errorf(codeOf(err), "load state of %s: %w", route, err)
	}
	return r, nil
}

var errClosed = whittle.Errorf(whittle.FailedPrecondition, "the state file is closed")

// Save writes a route's whole record, which is on disk when Save returns nil, together with
// those of other routes that are saved at the time. After an error the record before is still
// there, whole. Errors are *whittle.Error: ResourceExhausted where there is no space.
func (s *Store) Save(route string, r Record) error {
	b, err := encode(route, r)
	if err == nil {
		err = s.save(route, b)
	}
	if err == nil {
		return nil
	}
	e := whittle.Errorf(codeOf(err), "save state of %s: %w", route, err)
	if e.Code == whittle.ResourceExhausted {
		return e.WithHint("make room on the disk that holds " + s.path + "; no share rises until then")
	}
	return e
}

// save is Save, of an encoded record. Whoever begins a batch writes it, once the one before is
// written: what comes until then goes with it.
func (s *Store) save(route string, record []byte) error {
	s.mu.Lock()
	b, begins := s.next, s.next == nil
	if begins {
		b = &batch{records: map[string]json.RawMessage{}, done: make(chan struct{})}
		s.next = b
	}
	b.records[route] = record
	s.mu.Unlock()
	if begins {
		s.write(b)
	}
	<-b.done
	return b.err
}

// write writes a batch. It rests before for as long as the last write took, so that a large
// file takes no more than half of the disk's time.
func (s *Store) write(b *batch) {
	s.writing.Lock()
	defer s.writing.Unlock()
	defer close(b.done)
	time.Sleep(s.rest)
	s.mu.Lock()
	s.next = nil
	all, closed := maps.Clone(s.records), s.lock == nil
	s.mu.Unlock()
	if closed {
		b.err = errClosed
		return
	}
	maps.Copy(all, b.records)
	begun := time.Now()
	if b.err = write(s.path, all); b.err == nil {
		s.rest = time.Since(begun)
		s.mu.Lock()
		s.records = all
		s.mu.Unlock()
	}
}

// Close lets go of the file. Calls after it fail.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := s.lock
	s.lock = nil
	if lock == nil {
		return nil
	}
	if err := lock.Close(); err != nil {
		return whittle.Errorf(whittle.Internal, "close state %s: %w", s.path, err)
	}
	return nil
}

// SetAside renames a file that Open found damaged, so that a new one can take
// its place, and gives the name it has then. The damaged one is never deleted.
// Call it only where Open's error has ErrCorrupt in its chain: any other file
// may be in use.
func SetAside(path string, now time.Time) (string, error) {
	aside := path + ".corrupt-" + now.UTC().Format("20060102T150405.000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", whittle.Errorf(whittle.Internal, "set damaged state aside: %w", err).WithField("state")
	}
	return aside, nil
}

func codeOf(err error) whittle.Code {
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		return coded.Code
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return whittle.ResourceExhausted
		}
	}
	return whittle.Internal
}

func openError(path string, err error) error {
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		return whittle.Errorf(coded.Code, "open state %s: %w", path, err).WithHint(coded.Hint).WithField("state")
	}
	code, hint := codeOf(err), ""
	switch {
	case errors.Is(err, errInUse):
		code, hint = whittle.Unavailable, "another process has the file open: stop that whittle, or name another file under state:"
	case errors.Is(err, fs.ErrPermission):
		code, hint = whittle.PermissionDenied, "give the user that runs whittle the right to write this file and its folder"
	case errors.Is(err, syscall.EBUSY):
		hint = "each save puts a new file in the place of the old one: mount the folder that it is in, and not the file"
	case errors.Is(err, ErrCorrupt):
		hint = "move the file away to start with fresh evidence; until then every user stays on the monolith"
	}
	return whittle.Errorf(code, "open state %s: %w", path, err).WithHint(hint).WithField("state")
}

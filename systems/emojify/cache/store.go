package cache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"whittle"
	"whittle/internal/filelock"
)

// Options says what a store keeps. The zero value is fit for service.
type Options struct {
	// MaxBytes bounds what all items take on disk. Beyond it the least recently
	// used go. 0: 1 GiB.
	MaxBytes int64
	// MaxItem bounds one item, in bytes. 0: 16 MiB, or MaxBytes where that is
	// less.
	MaxItem int64
	// TTL is how long an item is kept after it was put. 0: 24 hours.
	TTL time.Duration
	// Writers bounds the items being written at once, and so what unfinished
	// ones take on disk; further ones wait. 0: 16.
	Writers int64
	// Now returns the time. Nil: time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	o.MaxItem = cmp.Or(o.MaxItem, 16<<20)
	o.MaxItem = min(o.MaxItem, o.MaxBytes)
	o.TTL = cmp.Or(o.TTL, 24*time.Hour)
	o.Writers = cmp.Or(o.Writers, 16)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

const (
	itemFolder    = "items"
	partialFolder = "partial"
)

// Store keeps items as files. It is safe for concurrent use; one process at a
// time has a folder.
type Store struct {
	dir     string
	o       Options
	lock    *os.File
	writers *semaphore.Weighted

	mu    sync.Mutex // guards the following, and every name in items/
	index *index
	stats Stats
}

// Stats is what a store holds, and what it was asked for since it was opened.
type Stats struct {
	Items, Bytes int64
	Hits, Misses uint64
}

// Open takes the folder, makes it if need be, and learns what it holds; what
// was not finished is removed, what is too old or too much goes. After a
// restart items count as used when they were put.
func Open(dir string, o Options) (*Store, error) {
	if o.MaxBytes < 0 || o.MaxItem < 0 || o.TTL < 0 || o.Writers < 0 {
		return nil, whittle.Errorf(whittle.Invalid, "open cache: bounds must not be below 0: %d bytes, %d bytes an item, %v, %d writers", o.MaxBytes, o.MaxItem, o.TTL, o.Writers)
	}
	s := &Store{dir: dir, o: o.withDefaults(), index: newIndex()}
	s.writers = semaphore.NewWeighted(s.o.Writers)
	if err := os.MkdirAll(s.path(itemFolder), 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	var err error
	if s.lock, err = os.OpenFile(s.path("lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, unusable(dir, err)
	}
	if err = filelock.Hold(s.lock); err != nil {
		err = whittle.Errorf(whittle.FailedPrecondition, "open cache: another process has %s: %w", dir, err)
	} else if err = s.rebuild(); err != nil {
		err = unusable(dir, err)
	}
	if err != nil {
		s.lock.Close()
		return nil, err
	}
	return s, nil
}

func unusable(dir string, err error) error {
	return whittle.Errorf(whittle.FailedPrecondition, "open cache in %s: %w", dir, err).
		WithHint("give it a folder of its own that it may write to")
}

// Close lets the folder go. Items that are being read stay readable.
func (s *Store) Close() error { return s.lock.Close() }

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// rebuild reads the folder: files whose names are no keys are not ours, and
// are left alone.
func (s *Store) rebuild() error {
	if err := os.RemoveAll(s.path(partialFolder)); err != nil {
		return err
	}
	if err := os.Mkdir(s.path(partialFolder), 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(s.path(itemFolder))
	if err != nil {
		return err
	}
	for _, f := range files {
		key, err := ParseKey(f.Name())
		if err != nil || !f.Type().IsRegular() {
			continue
		}
		stat, err := f.Info()
		if err != nil {
			return err
		}
		put := stat.ModTime()
		if now := s.o.Now(); put.After(now) {
			put = now // the clock was wrong, then or now: not a reason to keep it for ever
		}
		s.index.add(key, stat.Size(), put)
	}
	s.index.sortByAge()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.lockedExpire(); err != nil {
		return err
	}
	return s.lockedEvict(0)
}

// Item is an open item. It must be closed, and stays whole even if the item is
// replaced or evicted meanwhile.
type Item struct {
	*os.File
	Size     int64
	Modified time.Time
}

// Get opens an item; NotFound where there is none that is young enough.
func (s *Store) Get(key Key) (*Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.lockedFind(key)
	if e == nil {
		s.stats.Misses++
		return nil, notFound()
	}
	// Opened under the lock, so that what the index says is what is opened.
	file, err := os.Open(s.path(itemFolder, key.String()))
	if errors.Is(err, fs.ErrNotExist) {
		s.index.remove(e)
		s.stats.Misses++
		return nil, notFound()
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open item: %w", err)
	}
	s.index.use(e)
	s.stats.Hits++
	return &Item{file, e.size, e.put}, nil
}

// Exists reports whether Get would find an item, without using it.
func (s *Store) Exists(key Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockedFind(key) != nil
}

func notFound() error { return whittle.Errorf(whittle.NotFound, "there is no such item") }

// lockedFind gives an item that is young enough, nil where there is none.
func (s *Store) lockedFind(key Key) *entry {
	if e := s.index.byKey[key]; e != nil && !s.expired(e) {
		return e
	}
	return nil
}

func (s *Store) expired(e *entry) bool { return s.o.Now().Sub(e.put) >= s.o.TTL }

// Sweep removes what is too old. A service calls it now and then: an expired item is
// never given, swept or not.
func (s *Store) Sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockedExpire()
}

// lockedExpire removes what is too old.
func (s *Store) lockedExpire() error {
	for _, e := range s.index.byKey {
		if !s.expired(e) {
			continue
		}
		if err := s.lockedRemove(e); err != nil {
			return err
		}
	}
	return nil
}

// lockedEvict removes the least recently used until there is room for so many bytes.
func (s *Store) lockedEvict(room int64) error {
	for s.index.bytes+room > s.o.MaxBytes {
		if err := s.lockedRemove(s.index.oldest()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) lockedRemove(e *entry) error {
	if err := os.Remove(s.path(itemFolder, e.key.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return whittle.Errorf(whittle.Unavailable, "remove item: %w", err)
	}
	s.index.remove(e)
	return nil
}

// Stats returns what the store holds and did.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Items, out.Bytes = int64(len(s.index.byKey)), s.index.bytes
	return out
}

// Put keeps all that r gives under key, in place of what was there. If Put
// fails nobody sees any of it: ResourceExhausted above MaxItem, Invalid for no
// bytes at all, Unavailable when the disk fails, or r's own error. After a crash
// of the machine an item is whole or gone.
func (s *Store) Put(ctx context.Context, key Key, r io.Reader) (int64, error) {
	if err := s.writers.Acquire(ctx, 1); err != nil {
		return 0, whittle.Errorf(whittle.DeadlineExceeded, "wait to write: %w", err)
	}
	defer s.writers.Release(1)
	now := s.o.Now()
	partial, size, err := s.write(r, now)
	if err != nil {
		return 0, err
	}
	if err := s.commit(partial, key, size, now); err != nil {
		_ = os.Remove(partial) // the next start removes it otherwise
		return 0, err
	}
	return size, nil
}

package cache

import (
	"io"
	"os"
	"time"

	"whittle"
)

// write brings r's bytes to disk under a name that no reader looks at, as put
// at a time.
func (s *Store) write(r io.Reader, put time.Time) (name string, size int64, err error) {
	f, err := os.CreateTemp(s.path(partialFolder), "*")
	if err != nil {
		return "", 0, whittle.Errorf(whittle.Unavailable, "create item: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = whittle.Errorf(whittle.Unavailable, "close item: %w", closed)
		}
		if err != nil {
			_ = os.Remove(f.Name()) // the next start removes it otherwise
		}
	}()
	from := &source{r: io.LimitReader(r, s.o.MaxItem+1)}
	size, err = io.Copy(f, from)
	switch {
	case from.err != nil:
		return "", 0, from.err
	case err != nil:
		return "", 0, whittle.Errorf(whittle.Unavailable, "write item: %w", err)
	case size > s.o.MaxItem:
		return "", 0, whittle.Errorf(whittle.ResourceExhausted, "an item may have %d bytes", s.o.MaxItem)
	case size == 0:
		return "", 0, whittle.Errorf(whittle.Invalid, "an item must have at least one byte")
	}
	if err := os.Chtimes(f.Name(), put, put); err != nil {
		return "", 0, whittle.Errorf(whittle.Unavailable, "date item: %w", err)
	}
	// The bytes before the name: after a crash a name never shows half an item.
	if err := f.Sync(); err != nil {
		return "", 0, whittle.Errorf(whittle.Unavailable, "write item: %w", err)
	}
	return f.Name(), size, nil
}

// source distinguishes the sender's errors from the disk's.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// commit makes room for the item and gives it its name.
func (s *Store) commit(partial string, key Key, size int64, put time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.lockedExpire(); err != nil {
		return err
	}
	room := size
	old := s.index.byKey[key]
	if old != nil {
		s.index.use(old) // not evicted in its own favour
		room -= old.size
	}
	if err := s.lockedEvict(room); err != nil {
		return err
	}
	if err := os.Rename(partial, s.path(itemFolder, key.String())); err != nil {
		return whittle.Errorf(whittle.Unavailable, "name item: %w", err)
	}
	if old != nil {
		s.index.remove(old)
	}
	s.index.add(key, size, put)
	return nil
}

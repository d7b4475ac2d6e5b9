package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"whittle"
	"whittle/internal/filelock"
	"whittle/systems/ingest/stream/durable"
)

// folder is the disk of a log that is not a test's.
type folder string

const lockName = "LOCK"

// openFolder opens a folder, and makes it where it is missing unless it is
// only read.
func openFolder(dir string, readOnly bool) (folder, error) {
	if dir == "" {
		return "", whittle.Errorf(whittle.Invalid, "open log: no folder is given")
	}
	if !readOnly {
		if err := durable.MkdirAll(dir); err != nil {
			return "", codedf(err, "open log")
		}
		return folder(dir), nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New(dir + " is no folder")
	}
	if err != nil {
		return "", codedf(err, "open log")
	}
	return folder(dir), nil
}

// codedf gives an error of the file system its code.
func codedf(err error, doing string) *whittle.Error {
	code := whittle.Unavailable
	switch {
	case errors.Is(err, syscall.EROFS):
		return whittle.Errorf(whittle.PermissionDenied, "%s: %w", doing, err).WithHint("the file system is mounted read-only: mount it to be written, or name a folder elsewhere")
	case errors.Is(err, fs.ErrPermission):
		return whittle.Errorf(whittle.PermissionDenied, "%s: %w", doing, err).
			WithHint("run this as the user who owns the folder and the files in it, or give them to the one who runs it (chown -R)")
	case errors.Is(err, fs.ErrNotExist):
		code = whittle.NotFound
	case isFull(err):
		return whittle.Errorf(whittle.ResourceExhausted, "%s: %w", doing, err).WithHint("free space on the disk; it goes on by itself then")
	}
	return whittle.Errorf(code, "%s: %w", doing, err)
}

func (d folder) path(name string) string { return filepath.Join(string(d), name) }

func (d folder) Lock() (io.Closer, error) {
	f, err := os.OpenFile(d.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, codedf(err, "lock log")
	}
	if err := filelock.Hold(f); err != nil {
		f.Close()
		return nil, whittle.Errorf(whittle.FailedPrecondition, "lock log: %w", err).
			WithHint("another process writes the log in " + string(d) + "; there can be one")
	}
	if err := d.takesFiles(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// takesFiles fails where no segment can ever be made in the folder. A full disk is none
// of that: it has room again some time.
func (d folder) takesFiles() error {
	f, err := os.CreateTemp(string(d), "writable-*.tmp")
	if err == nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name())) // it is empty, and its name is nobody's
		return nil
	}
	if isForbidden(err) {
		return codedf(err, "open log: make a file in "+string(d))
	}
	return nil
}

// isForbidden reports whether the system does not let this user in, or anybody.
func isForbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func (d folder) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Create implements disk. Long batches go past the page cache.
func (d folder) Create(name string, size int64) (file, error) {
	f, err := d.create(name, size)
	if err != nil {
		return nil, err
	}
	return diskFile{File: f, direct: openDirect(f)}, nil
}

// drained is the folder of a log that is read right behind its writer, which finds in
// the page cache what was written last.
type drained struct{ folder }

// Create implements disk.
func (d drained) Create(name string, size int64) (file, error) {
	f, err := d.create(name, size)
	if err != nil {
		return nil, err
	}
	return diskFile{File: f}, nil
}

func (d folder) create(name string, size int64) (*os.File, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = allocate(f, size); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name()) // the first error says more
		return nil, err
	}
	return f, nil
}

func (d folder) Open(name string, write bool) (file, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(d.path(name), flags|syscall.O_NONBLOCK, 0) // a pipe that nobody writes to is opened at once
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", f.Name())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return diskFile{File: f}, nil
}

func (d folder) Remove(name string) error { return os.Remove(d.path(name)) }

func (d folder) Sync() error { return durable.Sync(string(d)) }

func (d folder) Free() (int64, error) { return freeBytes(string(d)) }

type diskFile struct {
	*os.File
	direct *os.File // the same file past the page cache; nil: it is written through it
}

// directBytes is how long a write has to be to go past the page cache: a short one
// costs as much either way.
const directBytes = 64 << 10

// WriteAt implements io.WriterAt. A log is written once and seldom read: the pages of
// the cache would be found, filled, written and dropped for nobody.
func (f diskFile) WriteAt(p []byte, at int64) (n int, err error) {
	if f.direct != nil && len(p) >= directBytes {
		if n, err = f.direct.WriteAt(p, at); !isMisaligned(err) {
			return n, err
		}
	}
	rest, err := f.File.WriteAt(p[n:], at+int64(n))
	return n + rest, err
}

func (f diskFile) Close() error {
	if f.direct != nil {
		_ = f.direct.Close() // what was written is synced by File
	}
	return f.File.Close()
}

func (f diskFile) Sync() error { return syncBytes(f.File) }

func (f diskFile) Forget(from, to int64) { forgetBytes(f.File, from, to) }

func (f diskFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

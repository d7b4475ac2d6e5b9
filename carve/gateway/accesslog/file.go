package accesslog

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// File is a log file, which is opened again by name when it was renamed: so do
// logrotate and its like. Lines are appended, so several processes may write to it.
type File struct {
	path string

	mu sync.Mutex // guards the following
	f  *os.File
}

// Open opens the file, or makes it.
func Open(path string) (*File, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, f: f}, nil
}

// create opens a file to append to it. A named pipe that nobody reads is an error: nobody
// waits for a reader.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o640)
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.f.Write(p)
}

// Reopen opens the file by its name. On an error it goes on writing to the one that it
// has.
func (f *File) Reopen() error {
	next, err := create(f.path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.f
	f.f = next
	return old.Close()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a pipe or a terminal has nothing to sync
	}
	return errors.Join(err, f.f.Close())
}

package embedded

import (
	"io"
)

// disk is the folder of a log. Tests put one in its place that loses what was
// not synced, tears writes, flips bits and runs out of space.
type disk interface {
	// Lock keeps other processes from writing here, until it is closed.
	Lock() (io.Closer, error)
	// List returns the names of the files.
	List() ([]string, error)
	// Create makes a new file of size bytes, all zeros, with its space taken.
	Create(name string, size int64) (file, error)
	// Open opens a file for reading, and for writing where write says so.
	Open(name string, write bool) (file, error)
	Remove(name string) error
	// Sync returns when names made and removed are on the disk.
	Sync() error
	// Free is how many bytes can still be taken.
	Free() (int64, error)
}

// file is one of them.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync returns when what was written is on the disk.
	Sync() error
	// Forget says that a part that was synced will not be read soon, so that the
	// system can use its memory for what is written next.
	Forget(from, to int64)
	// Truncate sets the length, and returns when it is on the disk.
	Truncate(size int64) error
	Size() (int64, error)
}

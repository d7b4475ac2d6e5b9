// Package durable makes folders and files whose names survive a loss of power.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MkdirAll makes a folder and what is missing above it, for the owner alone, and
// returns when all their names are on the disk. A folder that exists may have
// been made a moment before a process ended, so its name is seen to as well. No
// folder is made in one whose own name is not on the disk: so that of the
// deepest one is the only one that can be missing there, whenever this is cut
// short. A parent that may not be read is left to the system.
func MkdirAll(dir string) error { return mkdirAll(filepath.Clean(dir), syncParent) }

func mkdirAll(dir string, sync func(string) error) error {
	parent := filepath.Dir(dir)
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case errors.Is(err, fs.ErrNotExist):
		if err := mkdirAll(parent, sync); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case err != nil:
		return err
	}
	return sync(parent)
}

// Sync returns when the names in a folder are on the disk.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func syncParent(dir string) error {
	if err := Sync(dir); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

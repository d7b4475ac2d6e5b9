//go:build unix

// Package filelock lets one process at a time have a folder.
package filelock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Hold locks f until it is closed, or fails at once where another process holds it.
func Hold(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

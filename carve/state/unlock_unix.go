//go:build linux || darwin || freebsd || netbsd || openbsd

package state

import (
	"os"
	"syscall"
)

// unlock gives back the lock on a file. Closing it is not enough while the file is
// still mapped into memory.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

//go:build unix

package relay

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock holds f until it is closed, or fails at once where another process
// holds it.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

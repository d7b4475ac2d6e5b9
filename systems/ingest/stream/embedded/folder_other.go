//go:build !unix

package embedded

import (
	"errors"
	"math"
	"syscall"
)

// freeBytes does not know; a write will fail if there is no room.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

func isFull(err error) bool {
	const diskFull syscall.Errno = 112 // Windows: ERROR_DISK_FULL
	return errors.Is(err, diskFull) || errors.Is(err, syscall.ENOSPC)
}

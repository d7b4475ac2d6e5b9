//go:build unix

package listening

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// duplicate gives a file of the same socket. Since the socket does not block already,
// package os does not take it for its own to unblock and block again.
func duplicate(fd uintptr) (*os.File, error) {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(n), "listening socket"), nil
}

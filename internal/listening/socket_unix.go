//go:build unix

package listening

import (
	"errors"
	"io/fs"
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

// restrict has the file that a socket is bound to made with no bit that a mode has not. Linux
// makes it with the socket's own mode, without the umask's bits; elsewhere a socket has none, and
// the file is the umask's until its mode is set.
func restrict(fd uintptr, mode fs.FileMode) { _ = unix.Fchmod(int(fd), uint32(mode.Perm())) }

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Unsent is how much was written to a TCP connection that its peer has not acknowledged;
// 0 also where that cannot be said.
func Unsent(c syscall.Conn) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var failed error
	err = raw.Control(func(fd uintptr) { n, failed = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	if err != nil || failed != nil {
		return 0
	}
	return n
}

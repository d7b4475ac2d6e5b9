//go:build unix

package upstream

import "golang.org/x/sys/unix"

// nothingToRead reports whether a non-blocking socket is open and silent.
func nothingToRead(fd uintptr) bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == unix.EAGAIN || err == unix.EWOULDBLOCK
}

//go:build unix && (race || !linux)

package socket

import "syscall"

// available says whether this system has such calls.
const available = true

// ReadNow and WriteNow are the ordinary calls of package syscall. The race detector knows them: what a
// peer in the same process did before it wrote happens before the read returns.
func ReadNow(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }

// WriteNow is as ReadNow.
func WriteNow(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }

func peekNow(fd int, b []byte) (int, error) {
	n, _, err := syscall.Recvfrom(fd, b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, err
}

package socket

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bell wakes one goroutine as a message on a connection would: by the poller in which
// Go's scheduler waits anyway. To wake a goroutine by a channel, or to start one, wakes
// a thread as well, which is to share the work. For work that nobody waits for, that
// costs more than the work.
type Bell struct {
	file *os.File
	raw  syscall.RawConn
	ring func(fd uintptr)
}

// NewBell makes a bell, which takes a file descriptor. Close frees it.
func NewBell() (*Bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make bell: %w", err)
	}
	b := &Bell{file: os.NewFile(uintptr(fd), "eventfd")}
	if b.raw, err = b.file.SyscallConn(); err != nil {
		_ = b.file.Close() // nothing is written through it
		return nil, fmt.Errorf("make bell: %w", err)
	}
	b.ring = func(fd uintptr) {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = WriteNow(int(fd), one[:]) // it fails where the counter is full: after 600 years at 1 GHz
	}
	return b, nil
}

// Ring has Attend call step once more. Any goroutine may call it, and it does not wait.
func (b *Bell) Ring() { _ = b.raw.Control(b.ring) } // a closed bell wakes nobody

// Attend calls step at once, and then whenever the bell has rung, as long as it returns
// true. It ends with an error at the deadline. Each ring is an event of its own, so that
// the counter is never read.
func (b *Bell) Attend(step func() (more bool)) error {
	return b.raw.Read(func(uintptr) bool { return !step() })
}

// SetDeadline ends Attend at a time, unless it is moved.
func (b *Bell) SetDeadline(t time.Time) error { return b.file.SetReadDeadline(t) }

// Close frees the bell. Nobody may attend it.
func (b *Bell) Close() { _ = b.file.Close() } // nothing is written through it

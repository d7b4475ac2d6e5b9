package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps for less than a few milliseconds by the kernel's own clock, on
// this thread. A signal may end it early.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

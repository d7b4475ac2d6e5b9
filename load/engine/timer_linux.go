package engine

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer sleeps for a few milliseconds by a timerfd, which the runtime's
// network poller waits for along with everything else. A sleeping thread instead
// would cost a hand-over between threads at each wake-up.
type Timer struct {
	timer *os.File
	count [8]byte
}

// NewTimer makes a timer, which Close releases.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make timer: %w", err)
	}
	return &Timer{timer: os.NewFile(uintptr(fd), "timerfd")}, nil
}

func (n *Timer) sleep(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	raw, err := n.timer.SyscallConn()
	if err == nil {
		if e := raw.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); e != nil {
			err = e
		}
	}
	if err == nil {
		_, err = n.timer.Read(n.count[:])
	}
	if err != nil {
		time.Sleep(d)
	}
}

func (n *Timer) Close() { n.timer.Close() }

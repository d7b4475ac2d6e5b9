package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// poller is what a lane waits with: one epoll for its sockets, its clock and
// its bell. All are edge-triggered, so that neither the clock nor the bell has
// to be read.
type poller struct {
	epoll, clock, bell int
	armed              time.Time // when the clock is to ring; zero: it is not
	events             [pollBatch]unix.EpollEvent
}

// pollBatch bounds how long a lane is busy with answers before it looks again
// for what is due.
const pollBatch = 16

// What an event is about, where it is not a socket's place.
const (
	aboutClock int32 = -1
	aboutBell  int32 = -2
)

func newPoller() (p *poller, err error) {
	p = &poller{epoll: -1, clock: -1, bell: -1}
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("make poller: %w", err)
		}
	}()
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return p, err
	}
	if p.clock, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return p, err
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return p, err
	}
	if err = p.follow(p.clock, unix.EPOLLIN, aboutClock, 0); err != nil {
		return p, err
	}
	return p, p.follow(p.bell, unix.EPOLLIN, aboutBell, 0)
}

// follow reports what comes of a descriptor, with the two numbers, until it is
// closed.
func (p *poller) follow(fd int, what uint32, about, round int32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: what | unix.EPOLLET, Fd: about, Pad: round})
}

// ring ends a wait, now or the next one. Any goroutine may. It adds one and no
// more: the bell is never read, and a count that is full rings no more.
func (p *poller) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(p.bell, one[:])
}

// wait gives what has happened, after at least one thing has or the time until
// has come; zero: without such a time. It may return early with nothing.
func (p *poller) wait(now, until time.Time) ([]unix.EpollEvent, error) {
	timeout := -1
	if !until.IsZero() {
		if left := until.Sub(now); left <= 0 {
			timeout = 0
		} else if !p.armed.After(now) || p.armed.After(until) {
			// A clock that rings before its time is only looked at once more, and
			// what answers are waited for at most moves on with every request.
			spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
			if err := unix.TimerfdSettime(p.clock, 0, &spec, nil); err != nil {
				return nil, fmt.Errorf("set timer: %w", err)
			}
			p.armed = until
		}
	}
	n, err := unix.EpollWait(p.epoll, p.events[:], timeout)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wait for events: %w", err)
	}
	return p.events[:n], nil
}

// rang takes down that the clock has rung.
func (p *poller) rang() { p.armed = time.Time{} }

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.clock, p.bell} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing of it is worth keeping
		}
	}
}

package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits for an event loop's events: one epoll instance for its sockets,
// its timerfd and the eventfd that wakes it. All are edge-triggered, so that
// neither timer nor eventfd has to be read.
type poller struct {
	epoll, timer, wakeup int
	armed                time.Time // when the timer fires; zero: it is not set
	blocking             int       // calls on goroutines that the loop waits for
	events               [pollBatch]unix.EpollEvent
}

// pollBatch bounds the events that an event loop handles before it looks again at
// deadlines and arrivals.
const pollBatch = 16

// The values of an event's Fd that are no index of a socket.
const (
	eventTimer  int32 = -1
	eventWakeup int32 = -2
)

func newPoller() (p *poller, err error) {
	p = &poller{epoll: -1, timer: -1, wakeup: -1}
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("make poller: %w", err)
		}
	}()
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return p, err
	}
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return p, err
	}
	if p.wakeup, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return p, err
	}
	if err = p.add(p.timer, unix.EPOLLIN, eventTimer, 0); err != nil {
		return p, err
	}
	return p, p.add(p.wakeup, unix.EPOLLIN, eventWakeup, 0)
}

// add registers a descriptor until it is closed. Its events carry the two
// numbers.
func (p *poller) add(fd int, what uint32, index, generation int32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: what | unix.EPOLLET, Fd: index, Pad: generation})
}

// wake ends the present wait or the next one. Any goroutine may call it. It adds
// only one: the eventfd is never read, and a full counter wakes nobody.
func (p *poller) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(p.wakeup, one[:])
}

// wait returns the events, once there is one or the time until has passed; zero:
// without such a time. It may return early without events.
func (p *poller) wait(now, until time.Time) ([]unix.EpollEvent, error) {
	timeout := -1
	if !until.IsZero() {
		if left := until.Sub(now); left <= 0 {
			timeout = 0
		} else if !p.armed.After(now) || p.armed.After(until) {
			// An early timer costs one more look, so the timer is not set again
			// for deadlines that only move on, as each request's does.
			spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
			if err := unix.TimerfdSettime(p.timer, 0, &spec, nil); err != nil {
				return nil, fmt.Errorf("set timer: %w", err)
			}
			p.armed = until
		}
	}
	n, err := p.epollWait(timeout, until.Sub(now))
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wait for events: %w", err)
	}
	return p.events[:n], nil
}

// shortWait is how soon the next deadline is where a wait keeps its place in Go's
// scheduler.
const shortWait = time.Millisecond

// epollWait waits for events. Go's scheduler takes the place of a thread away that waits
// in a system call for 20 µs, and looks every 20 µs whether there is one: at thousands of
// arrivals a second that costs more than the waits. So a short wait does not tell it, unless
// a goroutine works for this loop. A signal by which it stops a thread ends the wait.
func (p *poller) epollWait(timeout int, left time.Duration) (int, error) {
	if timeout >= 0 || left <= 0 || left > shortWait || p.blocking > 0 {
		return unix.EpollWait(p.epoll, p.events[:], timeout)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])), pollBatch, ^uintptr(0), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// timerFired notes that the timer has fired.
func (p *poller) timerFired() { p.armed = time.Time{} }

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.timer, p.wakeup} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing is written through it
		}
	}
}

package listener

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// hangups tells connections that their client sends no more, while their goroutines
// wait for something else. A connection is registered once for as long as it is open,
// and its requests cost nothing: only the end of what a client sends is an event.
type hangups struct {
	epoll   *os.File
	raw     syscall.RawConn
	running sync.WaitGroup

	mu   sync.Mutex // guards the following
	open map[int32]*hangup
	last int32
}

// hangup is one connection's registration.
type hangup struct {
	h   *hangups
	raw syscall.RawConn
	c   *fastConn
	id  int32
}

func newHangups() (*hangups, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that it waits as sockets do, and takes no thread
	}
	if err != nil {
		return nil, fmt.Errorf("watch clients' connections: %w", err)
	}
	h := &hangups{epoll: os.NewFile(uintptr(fd), "epoll"), open: map[int32]*hangup{}}
	if h.raw, err = h.epoll.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch clients' connections: %w", err), h.epoll.Close())
	}
	h.running.Go(h.run)
	return h, nil
}

func (h *hangups) close() {
	_ = h.epoll.Close() // run ends by it
	h.running.Wait()
}

// run passes events on until close.
func (h *hangups) run() {
	var events [64]unix.EpollEvent
	for {
		n := 0
		var failed error
		err := h.raw.Read(func(fd uintptr) bool {
			for {
				if n, failed = unix.EpollWait(int(fd), events[:], 0); !errors.Is(failed, unix.EINTR) {
					return n != 0
				}
			}
		})
		if err != nil || failed != nil {
			return
		}
		for i := range events[:n] {
			e := &events[i]
			h.mu.Lock()
			w := h.open[e.Fd]
			h.mu.Unlock()
			if w != nil {
				w.c.hungUp(e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0)
			}
		}
	}
}

// watch registers a connection until the hangup's end; nil where that cannot be.
func (h *hangups) watch(raw syscall.RawConn, c *fastConn) *hangup {
	w := &hangup{h: h, raw: raw, c: c}
	h.mu.Lock()
	for w.id == 0 || h.open[w.id] != nil {
		h.last++
		w.id = h.last
	}
	h.open[w.id] = w
	h.mu.Unlock()
	err := w.control(unix.EPOLL_CTL_ADD)
	if err != nil {
		w.forget()
		return nil
	}
	return w
}

func (w *hangup) control(op int) (err error) {
	failed := w.h.raw.Control(func(epoll uintptr) {
		failed := w.raw.Control(func(fd uintptr) {
			err = unix.EpollCtl(int(epoll), op, int(fd), &unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: w.id})
		})
		err = errors.Join(err, failed)
	})
	return errors.Join(err, failed)
}

func (w *hangup) forget() {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	delete(w.h.open, w.id)
}

// end ends the registration; more than once does no harm.
func (w *hangup) end() {
	w.forget()
	_ = w.control(unix.EPOLL_CTL_DEL) // it may have ended with the connection
}

// pending reports whether something has been sent that is not read yet.
func (w *hangup) pending() (yes bool) {
	err := w.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		yes = err == nil && n > 0
	})
	return yes && err == nil
}

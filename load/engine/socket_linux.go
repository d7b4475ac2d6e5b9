package engine

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"whittle/internal/socket"
)

// Socket is a connection on an event loop. Reads and writes wait by yielding to
// the loop; one fiber at a time may use a socket.
type Socket struct {
	loop *Loop
	fd   int
	// index and generation identify the socket in events: the index of a closed
	// socket is used again, with another generation.
	index, generation int32
	// readable and writable say that the next call probably does not wait.
	readable, writable bool
	// peerClosed says that the peer sends no more.
	peerClosed bool
	waiter     *Fiber
	deadline   time.Time
}

// socketTable holds an event loop's open sockets by index.
type socketTable struct {
	open []*Socket
	free []int32
	// generation rises with each socket that is opened.
	generation int32
}

func (s *socketTable) add(k *Socket) {
	s.generation++
	k.generation = s.generation
	if n := len(s.free); n > 0 {
		k.index = s.free[n-1]
		s.free = s.free[:n-1]
		s.open[k.index] = k
		return
	}
	k.index = int32(len(s.open))
	s.open = append(s.open, k)
}

// handleEvent updates a socket's state and resumes the fiber that waits for it.
func (s *socketTable) handleEvent(l *Loop, e *unix.EpollEvent) {
	k := s.open[e.Fd]
	if k == nil || k.generation != e.Pad {
		return // the socket was closed since
	}
	ended := e.Events&(unix.EPOLLERR|unix.EPOLLHUP|unix.EPOLLRDHUP) != 0
	k.peerClosed = k.peerClosed || ended
	k.readable = k.readable || ended || e.Events&unix.EPOLLIN != 0
	k.writable = k.writable || ended || e.Events&unix.EPOLLOUT != 0
	if k.waiter != nil {
		l.resume(k.waiter, wokenReady)
	}
}

// connect opens a connection to one address.
func (l *Loop) connect(to netip.AddrPort, deadline time.Time) (*Socket, error) {
	family, address := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	k := &Socket{loop: l, fd: fd, deadline: deadline}
	l.sockets.add(k)
	if err := k.open(address); err != nil {
		_ = k.Close() // the first error says more
		return nil, err
	}
	return k, nil
}

func (k *Socket) open(address unix.Sockaddr) error {
	if err := unix.SetsockoptInt(k.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	err := unix.Connect(k.fd, address)
	waits := errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR)
	if err != nil && !waits {
		return os.NewSyscallError("connect", err)
	}
	const what = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP
	if err := k.loop.poll.add(k.fd, what, k.index, k.generation); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	if !waits {
		return nil
	}
	for !k.writable {
		if err := k.waitForEvent(); err != nil {
			return err
		}
	}
	code, err := unix.GetsockoptInt(k.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return os.NewSyscallError("connect", err)
}

// waitForEvent yields to the loop until an event comes for the socket.
func (k *Socket) waitForEvent() error {
	k.waiter = k.loop.running
	why := k.waiter.wait(k.deadline)
	k.waiter = nil
	switch why {
	case wokenByDeadline:
		return os.ErrDeadlineExceeded
	case wokenByAbort:
		return ErrAborted
	}
	return nil
}

// Read waits before it reads unless data is known to be there: right after a
// request there hardly ever is, and a read in vain costs as much as another.
func (k *Socket) Read(b []byte) (int, error) {
	for {
		for !k.readable {
			if err := k.waitForEvent(); err != nil {
				return 0, err
			}
		}
		n, err := socket.ReadNow(k.fd, b)
		switch {
		case n > 0:
			// A short read has emptied the socket, and later data makes a new event
			// (epoll(7)). The end of the stream makes only one.
			k.readable = n == len(b) || k.peerClosed
			return n, nil
		case err == nil:
			return 0, io.EOF
		case errors.Is(err, unix.EAGAIN):
			k.readable = false
		case !errors.Is(err, unix.EINTR):
			return 0, os.NewSyscallError("read", err)
		}
	}
}

func (k *Socket) Write(b []byte) (sent int, err error) {
	for sent < len(b) {
		n, err := socket.WriteNow(k.fd, b[sent:])
		switch {
		case err == nil:
			sent += n
		case errors.Is(err, unix.EAGAIN):
			for k.writable = false; !k.writable; {
				if err := k.waitForEvent(); err != nil {
					return sent, err
				}
			}
		case !errors.Is(err, unix.EINTR):
			return sent, os.NewSyscallError("write", err)
		}
	}
	return sent, nil
}

// HasInput reports whether the next read probably does not wait.
func (k *Socket) HasInput() bool { return k.readable || k.peerClosed }

// SetDeadline bounds the waits of later reads and writes.
func (k *Socket) SetDeadline(t time.Time) error {
	k.deadline = t
	return nil
}

// Close ends the connection.
func (k *Socket) Close() error {
	if k.fd < 0 {
		return nil
	}
	err := unix.Close(k.fd)
	k.fd = -1
	s := &k.loop.sockets
	s.open[k.index] = nil
	s.free = append(s.free, k.index)
	return os.NewSyscallError("close", err)
}

// ClosedByPeer reports whether the peer has closed an idle socket or has sent
// bytes that no request asked for.
func (k *Socket) ClosedByPeer() bool {
	if k.peerClosed {
		return true
	}
	var b [1]byte
	_, _, err := unix.Recvfrom(k.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return !errors.Is(err, unix.EAGAIN)
}

func sockaddr(to netip.AddrPort) (family int, address unix.Sockaddr) {
	ip := to.Addr().Unmap()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: ip.As4()}
	}
	a := &unix.SockaddrInet6{Port: int(to.Port()), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		a.ZoneId = zoneIndex(zone)
	}
	return unix.AF_INET6, a
}

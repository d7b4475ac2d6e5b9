package load

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sock is a connection on a lane. Reading and writing wait by giving control
// back to the lane; one fiber at a time does either.
type sock struct {
	lane *lane
	fd   int
	// index and round name the sock in events: a closed one's place is given to
	// another, in a later round.
	index, round int32
	// readable and writable: as far as is known, the next call will not wait.
	readable, writable bool
	// over: the other side sends no more.
	over     bool
	waiter   *fiber
	deadline time.Time
}

// socks are a lane's open ones, by their place.
type socks struct {
	at   []*sock
	free []int32
	// round is raised for each sock that is opened.
	round int32
}

func (s *socks) add(k *sock) {
	s.round++
	k.round = s.round
	if n := len(s.free); n > 0 {
		k.index = s.free[n-1]
		s.free = s.free[:n-1]
		s.at[k.index] = k
		return
	}
	k.index = int32(len(s.at))
	s.at = append(s.at, k)
}

// event takes down what has happened on a sock, and wakes who waits for it.
func (s *socks) event(l *lane, e *unix.EpollEvent) {
	k := s.at[e.Fd]
	if k == nil || k.round != e.Pad {
		return // of one that was closed since
	}
	ended := e.Events&(unix.EPOLLERR|unix.EPOLLHUP|unix.EPOLLRDHUP) != 0
	k.over = k.over || ended
	k.readable = k.readable || ended || e.Events&unix.EPOLLIN != 0
	k.writable = k.writable || ended || e.Events&unix.EPOLLOUT != 0
	if k.waiter != nil {
		l.resume(k.waiter, causeReady)
	}
}

// connect opens a connection to one address.
func (l *lane) connect(to netip.AddrPort, deadline time.Time) (*sock, error) {
	family, address := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	k := &sock{lane: l, fd: fd, deadline: deadline}
	l.socks.add(k)
	if err := k.open(address); err != nil {
		_ = k.Close() // why it was not opened says more
		return nil, err
	}
	return k, nil
}

func (k *sock) open(address unix.Sockaddr) error {
	if err := unix.SetsockoptInt(k.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	err := unix.Connect(k.fd, address)
	waits := errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR)
	if err != nil && !waits {
		return os.NewSyscallError("connect", err)
	}
	const what = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP
	if err := k.lane.poll.follow(k.fd, what, k.index, k.round); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	if !waits {
		return nil
	}
	for !k.writable {
		if err := k.wait(); err != nil {
			return err
		}
	}
	code, err := unix.GetsockoptInt(k.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return os.NewSyscallError("connect", err)
}

// wait gives control to the lane until something happens on the sock.
func (k *sock) wait() error {
	k.waiter = k.lane.running
	why := k.waiter.wait(k.deadline)
	k.waiter = nil
	switch why {
	case causeTime:
		return os.ErrDeadlineExceeded
	case causeEnd:
		return errEnded
	}
	return nil
}

// Read waits first where nothing is known to be there: at a request's answer
// there hardly ever is, and to ask costs as much as to read.
func (k *sock) Read(b []byte) (int, error) {
	for {
		for !k.readable {
			if err := k.wait(); err != nil {
				return 0, err
			}
		}
		n, err := readNow(k.fd, b)
		switch {
		case n > 0:
			// A short read leaves nothing behind (epoll(7)); what comes later is
			// told anew. The end, though, is told only once.
			k.readable = n == len(b) || k.over
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

func (k *sock) Write(b []byte) (sent int, err error) {
	for sent < len(b) {
		n, err := writeNow(k.fd, b[sent:])
		switch {
		case err == nil:
			sent += n
		case errors.Is(err, unix.EAGAIN):
			for k.writable = false; !k.writable; {
				if err := k.wait(); err != nil {
					return sent, err
				}
			}
		case !errors.Is(err, unix.EINTR):
			return sent, os.NewSyscallError("write", err)
		}
	}
	return sent, nil
}

// SetDeadline bounds the waits of what is read and written from now on.
func (k *sock) SetDeadline(t time.Time) error {
	k.deadline = t
	return nil
}

// Close ends the connection.
func (k *sock) Close() error {
	if k.fd < 0 {
		return nil
	}
	err := unix.Close(k.fd)
	k.fd = -1
	s := &k.lane.socks
	s.at[k.index] = nil
	s.free = append(s.free, k.index)
	return os.NewSyscallError("close", err)
}

// closedByPeer looks whether an idle sock has ended, or has bytes on it that
// nobody asked for.
func (k *sock) closedByPeer() bool {
	if k.over {
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

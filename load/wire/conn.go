package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"syscall"
	"time"
)

// stream is what a conn needs of a connection.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
}

// conn is one connection with its reader.
type conn struct {
	stream
	responseReader
	endpoint *endpoint
	// idleSince is when its last response ended.
	idleSince time.Time
}

// closedByPeer reports, without waiting, whether the peer has closed an idle
// connection or has sent bytes that no request asked for.
func (c *conn) closedByPeer() bool {
	var sc syscall.Conn
	switch s := c.stream.(type) {
	case interface{ ClosedByPeer() bool }: // on an event loop
		return s.ClosedByPeer()
	case *tls.Conn:
		sc, _ = s.NetConn().(syscall.Conn)
	case syscall.Conn:
		sc = s
	}
	if sc == nil {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	// Not raw.Read: it checks the deadline first, which is the previous request's.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n >= 0 && err == nil || err != nil && !errors.Is(err, syscall.EAGAIN)
	})
	return gone || err != nil
}

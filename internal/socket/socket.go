// Package socket reads and writes connections by system calls of which Go's scheduler
// learns nothing. On a socket that does not block they return at once, so that no
// other thread has to take over meanwhile, and that an idle process's monitor thread
// is not woken by each of them. A goroutine that has to wait is parked as ever.
package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Conn is a TCP or Unix connection. It is used as any other net.Conn.
type Conn struct {
	net.Conn
	raw     syscall.RawConn
	in, out direction
	// once says that the present write ends with the first bytes that are taken.
	once bool
	// request is what Ask has still to write; nil: all was written.
	request []byte
	asked   int
	ask     func(fd uintptr) bool
	// silent is the result of look, which peeks at one byte.
	silent bool
	peeked [1]byte
	look   func(fd uintptr) bool
}

// direction is reading or writing.
type direction struct {
	mu sync.Mutex // one call at a time; guards the following
	p  []byte
	n  int
	// err is the system call's.
	err  error
	step func(fd uintptr) bool
}

// longest bounds one system call, for which nobody can stop the thread.
const longest = 64 << 10

// Of gives a connection with quick system calls; nil where c is no connection of the
// system's, or the system has none.
func Of(c net.Conn) *Conn {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil || !available {
		return nil
	}
	k := &Conn{Conn: c, raw: raw}
	k.in.step, k.out.step, k.ask, k.look = k.readStep, k.writeStep, k.askStep, k.lookStep
	return k
}

// SyscallConn implements syscall.Conn.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// CloseWrite closes one direction.
func (c *Conn) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	d := &c.in
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin(p[:min(len(p), longest)])
	return c.haveRead(c.raw.Read(d.step))
}

// haveRead gives the result of a read.
func (c *Conn) haveRead(err error) (int, error) {
	d := &c.in
	d.p = nil
	switch {
	case err != nil:
		return 0, err
	case d.err != nil:
		return 0, c.failed("read", d.err)
	case d.n == 0:
		return 0, io.EOF
	}
	return d.n, nil
}

func (c *Conn) readStep(fd uintptr) bool {
	d := &c.in
	for {
		d.n, d.err = ReadNow(int(fd), d.p)
		if !interrupted(d.err) {
			return !wouldBlock(d.err)
		}
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	d := &c.out
	d.mu.Lock()
	defer d.mu.Unlock()
	return c.write(p)
}

// write writes p, or of it what the peer takes at once. The caller holds out's mu.
func (c *Conn) write(p []byte) (int, error) {
	d := &c.out
	d.begin(p)
	err := c.raw.Write(d.step)
	d.p = nil
	if err == nil && d.err != nil {
		err = c.failed("write", d.err)
	}
	return d.n, err
}

// Push writes as much as the peer takes at once, and waits while it takes nothing.
func (c *Conn) Push(p []byte) (int, error) {
	d := &c.out
	d.mu.Lock()
	defer d.mu.Unlock()
	c.once = true
	n, err := c.write(p)
	c.once = false
	return n, err
}

func (c *Conn) writeStep(fd uintptr) bool {
	d := &c.out
	for d.n < len(d.p) {
		n, err := WriteNow(int(fd), d.p[d.n:min(len(d.p), d.n+longest)])
		switch {
		case err == nil:
			if d.n += n; c.once {
				return true
			}
		case wouldBlock(err):
			return false
		case !interrupted(err):
			d.err = err
			return true
		}
	}
	return true
}

// Ask writes a message and reads what comes then. Nothing may have come before: it
// waits without trying to read, since right after a message there hardly ever is
// something to be read, and a read in vain costs as much as another. sent is how much
// of the message was written.
func (c *Conn) Ask(message, response []byte) (sent, n int, err error) {
	d := &c.in
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin(response[:min(len(response), longest)])
	c.request, c.asked = message, 0
	err = c.raw.Read(c.ask)
	rest := c.request
	c.request = nil
	switch {
	case err != nil:
		return c.asked, 0, err
	case len(rest) == 0:
		n, err = c.haveRead(nil)
		return c.asked, n, err
	case d.err != nil && !wouldBlock(d.err):
		return c.asked, 0, c.failed("write", d.err)
	}
	m, err := c.Write(rest) // the socket was full, which is rare: this waits for the peer
	if err != nil {
		return c.asked + m, 0, err
	}
	n, err = c.haveRead(c.raw.Read(d.step))
	return c.asked + m, n, err
}

func (c *Conn) askStep(fd uintptr) bool {
	d := &c.in
	if len(c.request) == 0 {
		return c.readStep(fd)
	}
	for {
		n, err := WriteNow(int(fd), c.request)
		if interrupted(err) {
			continue
		}
		d.err = err
		if n > 0 {
			c.asked, c.request = n, c.request[n:]
		}
		return len(c.request) > 0
	}
}

// Silent reports whether the connection is open and has nothing to read.
func (c *Conn) Silent() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return c.raw.Read(c.look) == nil && c.silent
}

func (c *Conn) lookStep(fd uintptr) bool {
	_, err := peekNow(int(fd), c.peeked[:])
	c.silent = wouldBlock(err)
	return true
}

func (d *direction) begin(p []byte) { d.p, d.n, d.err = p, 0, nil }

func (c *Conn) failed(call string, err error) error {
	return &net.OpError{
		Op: call, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(),
		Err: os.NewSyscallError(call, err),
	}
}

func wouldBlock(err error) bool { return err == syscall.EAGAIN } //nolint:errorlint // it comes as it is

func interrupted(err error) bool { return err == syscall.EINTR } //nolint:errorlint // it comes as it is

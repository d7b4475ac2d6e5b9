package front

import (
	"net"
	"sync"
	"syscall"
	"time"

	"whittle/internal/socket"
)

// listener bounds how many connections are open; more wait to be accepted.
type listener struct {
	*net.TCPListener
	peers *peers
	open  chan struct{} // has an element for each

	closing sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	tcp, err := l.AcceptTCP()
	if err != nil {
		<-l.open
		return nil, err
	}
	c := &peer{tcpConn: tcp, l: l, name: tcp.RemoteAddr().String()}
	if quick := socket.Of(tcp); quick != nil {
		c.tcpConn = quick
	}
	l.peers.add(c)
	return c, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// tcpConn is a *net.TCPConn, or one that is read and written past Go's scheduler.
type tcpConn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// peer is a connection.
type peer struct {
	tcpConn
	l    *listener
	name string
	gone sync.Once
}

// Close implements net.Conn.
func (c *peer) Close() error {
	err := c.tcpConn.Close()
	c.gone.Do(func() {
		c.l.peers.remove(c)
		<-c.l.open
	})
	return err
}

// peers are the open connections by their peers' addresses, which is how a
// handler knows them.
type peers struct {
	mu    sync.Mutex // guards the following
	conns map[string]*peer
}

func (p *peers) add(c *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		p.conns = map[string]*peer{}
	}
	p.conns[c.name] = c
}

// remove forgets a connection, unless its peer has come again under the same
// address.
func (p *peers) remove(c *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c.name] == c {
		delete(p.conns, c.name)
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// cut has whoever reads from the peer stop. What is written to it still gets
// there.
func (p *peers) cut(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[name]; c != nil {
		_ = c.SetReadDeadline(longAgo) // it fails where nobody reads any more
	}
}

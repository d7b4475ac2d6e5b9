package listener

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// entered says when somebody reads.
type entered struct {
	net.Conn
	in chan struct{}
}

func (c *entered) Read(p []byte) (int, error) {
	close(c.in)
	return c.Conn.Read(p)
}

// TestAwaitComesTooLate: whoever was to wait for a body's first bytes may be scheduled
// when they have been read. It must not wait for the next request, which comes only
// when this one has had its response.
func TestAwaitComesTooLate(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	g := newStrictConn(server, 1<<10, new(atomic.Int64), nil)
	g.Await(func() bool { return false }) // of a client that says nothing
	reads := &entered{Conn: server, in: make(chan struct{})}
	watch := newStrictConn(reads, 1<<10, new(atomic.Int64), nil)
	ended := make(chan struct{})
	go func() { // net/http watches for the client's going
		defer close(ended)
		_, _ = watch.Read(make([]byte, 1))
	}()
	<-reads.in
	watch.Await(func() bool { return true })
	_, _ = client.Write([]byte("G"))
	<-ended
	go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
	g.Await(func() bool { return true })
	if len(g.ahead) == 0 {
		t.Error("nothing was read ahead")
	}
	g.Await(func() bool { return true }) // it is there already
	if n, err := g.Read(make([]byte, 100)); n != 27 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

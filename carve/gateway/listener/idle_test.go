package listener

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"whittle"
)

// TestIdleConnectionHoldsNoBuffer: while a connection of TLS waits for a request it has
// nothing to read it into but for its first bytes, which are not lost.
func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &fastConn{l: &fastPath{s: New(Config{NetHTTP: true, Limits: whittle.Limits{}.WithDefaults()})}, net: near, first: new([64]byte)}
		c.reads.net = near
		c.take() // as a request before has left it
		come := make(chan bool)
		go func() { come <- c.awaitRequest() }()
		synctest.Wait()
		if c.in != nil {
			t.Error("it holds a buffer")
		}
		head := "GET /" + strings.Repeat("a", 100)
		go func() { _, _ = io.WriteString(far, head) }()
		if !<-come || c.readMore() != nil || string(c.in.bytes[c.from:c.to]) != head {
			t.Errorf("%d bytes have come of %d", c.to-c.from, len(head))
		}
		_, _ = near.Close(), far.Close()
	})
}

package listener

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// TestIdleConnectionsHaveTheirTime: a connection that was used a while ago is not closed
// before it has been idle for as long as it may, by a deadline that an earlier request set.
func TestIdleConnectionsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		limits := whittle.Limits{}.WithDefaults()
		c := &fastConn{l: &fastPath{s: New(Config{NetHTTP: true, Limits: limits})}, net: near, first: new([64]byte), used: true}
		c.reads.net = near
		for range 3 {
			go func() { _, _ = io.WriteString(far, "x") }()
			if !c.awaitRequest() {
				t.Fatal("nothing has come")
			}
			c.from = c.to
			time.Sleep(limits.IdleTimeout / 20)
		}
		since := time.Now()
		if c.awaitRequest() || time.Since(since) != limits.IdleTimeout {
			t.Errorf("it was closed after %v", time.Since(since))
		}
		_, _ = near.Close(), far.Close()
	})
}

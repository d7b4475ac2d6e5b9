package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestIdle has a connection wait with no buffer, get bytes that come while it waits and
// bytes that have come before, and end with the connection, and at the deadline.
func TestIdle(t *testing.T) {
	networks(t, func(t *testing.T, near *Conn, far net.Conn) {
		raw, err := near.Conn.(syscall.Conn).SyscallConn()
		fatal.If(t, err)
		var buf []byte
		waits := make(chan struct{}, 1)
		w := NewIdle(raw, func() []byte {
			if buf == nil {
				buf = make([]byte, 8)
			}
			return buf
		}, func() {
			buf = nil
			waits <- struct{}{}
		})
		read := func(want string) {
			t.Helper()
			if n, err := w.Read(); err != nil || string(buf[:n]) != want {
				t.Errorf("%q of %d bytes, %v, want %q", buf, n, err, want)
			}
		}
		sent := make(chan error, 1)
		go func() {
			<-waits
			_, err := io.WriteString(far, "while it waits")
			sent <- err
		}()
		read("while it")
		fatal.If(t, <-sent)
		read(" waits") // what has come before, without another event
		fatal.If(t, near.SetReadDeadline(time.Unix(1, 0)))
		if _, err := w.Read(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("at the deadline: %v", err)
		}
		fatal.If(t, near.SetReadDeadline(time.Time{}))
		far.Close()
		for len(waits) > 0 {
			<-waits
		}
		if _, err := w.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	})
}

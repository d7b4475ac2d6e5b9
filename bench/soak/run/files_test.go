package run

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
)

// TestKept: of a process's files those count as kept that are connections to one of its
// upstreams, also where that one has ended it. What the process has closed is none.
func TestKept(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // it is 0 there
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	upstream, other := listen(), listen()
	for i, l := range []net.Listener{upstream, upstream, upstream, other} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		end, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = end.Close() })
		switch i {
		case 0:
			_ = end.Close()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		case 1:
			_ = c.Close()
		}
	}
	if got := kept(os.Getpid(), []string{"127.0.0.1:1", upstream.Addr().String()}); got != 2 {
		t.Errorf("%d connections are kept, want 2", got)
	}
	if got := kept(-1, []string{upstream.Addr().String()}); got != 0 {
		t.Errorf("a process that is not keeps %d", got)
	}
}

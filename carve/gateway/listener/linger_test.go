package listener

import (
	"math"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/conns"
	"whittle/internal/fatal"
)

// TestLingeringEndsWithTheServer: a client that sends without end holds up no server that
// ends, and until then it is read.
func TestLingeringEndsWithTheServer(t *testing.T) {
	c, client := net.Pipe()
	var draining atomic.Bool
	var sent atomic.Int64
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, err := client.Write([]byte("x")); err != nil {
				return
			}
			if sent.Add(1) == 100 {
				draining.Store(true)
			}
		}
	}()
	linger(c, lingering{total: time.Hour, idle: time.Hour, bytes: math.MaxInt64}, &draining)
	_ = c.Close()
	<-gone
	if n := sent.Load(); n < 100 {
		t.Errorf("%d bytes were read", n)
	}
}

// TestWhatIsUnsentShowsThrough: who gets a connection of which something has been read sees
// how much of what was written the client has not taken, as with any other.
func TestWhatIsUnsentShowsThrough(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	fatal.If(t, err)
	defer far.Close()
	near, err := l.Accept()
	fatal.If(t, err)
	defer near.Close()
	_ = near.SetWriteDeadline(time.Now().Add(time.Second))
	for err == nil { // until the client's machine takes no more
		_, err = near.Write(make([]byte, 1<<20))
	}
	c := &client{Conn: near}
	through, ok := conns.Resume(c, []byte("x")).(interface{ Unsent() int })
	if !ok {
		t.Fatal("it does not say")
	}
	if got, want := through.Unsent(), c.Unsent(); got != want || runtime.GOOS == "linux" && got == 0 {
		t.Errorf("%d bytes, not %d", got, want)
	}
}

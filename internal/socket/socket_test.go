package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// pair gives two ends of a connection, of which the first is quick.
func pair(t *testing.T, network string) (quick *Conn, far net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, addr)
	fatal.If(t, err)
	defer l.Close()
	near, err := net.Dial(network, l.Addr().String())
	fatal.If(t, err)
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return Of(near), far
}

func networks(t *testing.T, test func(t *testing.T, near *Conn, far net.Conn)) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			near, far := pair(t, network)
			test(t, near, far)
		})
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	networks(t, func(t *testing.T, near *Conn, far net.Conn) {
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than the system buffers
		var running sync.WaitGroup
		defer running.Wait()
		running.Go(func() {
			_, _ = io.Copy(far, far) // it ends with the connection
			_ = far.Close()
		})
		running.Go(func() {
			half := len(sent) / 2
			if n, err := near.Write(sent[:half]); n != half || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			for left := sent[half:]; len(left) > 0; {
				n, err := near.Push(left)
				if n == 0 || err != nil {
					t.Errorf("pushed %d of %d, %v", n, len(left), err)
					break
				}
				left = left[n:]
			}
			if err := near.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		got, err := io.ReadAll(near)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes came back of %d: %v", len(got), len(sent), err)
		}
	})
}

func TestAsk(t *testing.T) {
	networks(t, func(t *testing.T, near *Conn, far net.Conn) {
		for _, size := range []int{1, 10, 1 << 22} {
			request := bytes.Repeat([]byte{'q'}, size)
			var running sync.WaitGroup
			running.Go(func() {
				if _, err := io.ReadFull(far, make([]byte, size)); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(far, "a response")
			})
			var response [64]byte
			sent, n, err := near.Ask(request, response[:])
			if sent != size || string(response[:n]) != "a response" || err != nil {
				t.Fatalf("%d sent of %d, %q, %v", sent, size, response[:n], err)
			}
			running.Wait()
		}
		if !near.Silent() {
			t.Error("an open connection without anything to read is not silent")
		}
		_, _ = io.WriteString(far, "nobody asked")
		for near.Silent() {
		}
	})
}

// TestAskKnowsWhatWasSent: only what was not sent at all may be sent again.
func TestAskKnowsWhatWasSent(t *testing.T) {
	networks(t, func(t *testing.T, near *Conn, far net.Conn) {
		_ = far.Close()
		for near.Silent() {
		}
		var response [8]byte
		for range 3 { // a connection that was closed takes what is sent at first
			sent, n, err := near.Ask([]byte("request"), response[:])
			switch {
			case n != 0, err == nil:
				t.Fatalf("a response of %d bytes, %v", n, err)
			case errors.Is(err, syscall.EPIPE):
				fatal.Same(t, sent, 0, "bytes sent into a broken pipe")
				return
			case sent != len("request"):
				t.Errorf("%d sent, and %v", sent, err)
			}
		}
		t.Error("the pipe never breaks")
	})
}

func TestDeadlinesAndClosing(t *testing.T) {
	waits := map[string]func(c *Conn) error{
		"read":  func(c *Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"ask":   func(c *Conn) error { _, _, err := c.Ask([]byte("q"), make([]byte, 1)); return err },
		"write": func(c *Conn) error { _, err := c.Write(make([]byte, 1<<23)); return err },
		"push": func(c *Conn) error {
			for {
				if _, err := c.Push(make([]byte, 1<<16)); err != nil {
					return err
				}
			}
		},
	}
	for name, wait := range waits {
		for how, want := range map[string]error{"deadline": os.ErrDeadlineExceeded, "closing": net.ErrClosed} {
			t.Run(name+" "+how, func(t *testing.T) {
				networks(t, func(t *testing.T, near *Conn, _ net.Conn) {
					ended := make(chan error, 1)
					go func() { ended <- wait(near) }()
					if how == "closing" {
						_ = near.Close()
					} else if err := near.SetDeadline(time.Unix(1, 0)); err != nil {
						t.Fatal(err)
					}
					if err := <-ended; !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				})
			})
		}
	}
}

func TestOnlyTheSystemsConnections(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	if Of(one) != nil {
		t.Error("a pipe in memory has no system calls")
	}
}

func TestAskAllocatesNothing(t *testing.T) {
	near, far := pair(t, "tcp")
	var running sync.WaitGroup
	defer running.Wait()
	defer near.Close()
	running.Go(func() {
		var b [8]byte
		for {
			n, err := far.Read(b[:])
			if err != nil {
				return
			}
			_, _ = far.Write(b[:n])
		}
	})
	request, response := []byte("request"), make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := near.Ask(request, response); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a request", n)
	}
}

// TestNoRingIsLost: whatever was put down before the ring is seen.
func TestNoRingIsLost(t *testing.T) {
	b, err := NewBell()
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	fatal.If(t, err)
	defer b.Close()
	const rings = 10_000
	var put, seen atomic.Int64
	step := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- b.Attend(func() (more bool) {
			seen.Store(put.Load())
			select {
			case step <- struct{}{}:
			default:
			}
			return seen.Load() < rings
		})
	}()
	for range rings {
		n := put.Add(1)
		b.Ring()
		for seen.Load() < n {
			<-step
		}
	}
	fatal.If(t, <-ended)
	fatal.If(t, b.SetDeadline(time.Unix(1, 0)))
	if err := b.Attend(func() bool { return true }); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("attended beyond the deadline: %v", err)
	}
}

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

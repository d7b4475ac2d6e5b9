package collect

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// A connection outlives this process's end of it, until the process has been gone for a
// moment, or says that it may end.
func TestAConnectionOutlivesItsProcess(t *testing.T) {
	for name, end := range map[string]func(*linger){
		"ended": (*linger).end,
		"killed": func(l *linger) { // what a kill does
			l.own.Close()
			t.Cleanup(l.end)
		},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := net.Listen("tcp", "127.0.0.1:0")
			fatal.If(t, err)
			defer line.Close()
			conn, err := net.Dial("tcp", line.Addr().String())
			fatal.If(t, err)
			peer, err := line.Accept()
			fatal.If(t, err)
			defer peer.Close()
			l := keepOpen(conn.(*net.TCPConn), line.(*net.TCPListener))
			if l == nil {
				t.Fatal("no shell")
			}
			conn.Close()
			fatal.If(t, peer.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection ended with its process: %v", err)
			}
			fatal.If(t, peer.SetReadDeadline(time.Time{}))
			end(l)
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("it is still open: %v", err)
			}
		})
	}
}

// A profile that somebody saved may name anything as the script of a function: what is no
// file is not opened.
func TestAScriptThatIsAPipeIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "server.js")
	fatal.If(t, syscall.Mkfifo(pipe, 0o600))
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() { // it can be opened for writing only while somebody reads
		for {
			if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				t.Error("it was opened")
				w.Close()
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	if lines := newRoutes().lines(pipe); lines != nil {
		t.Errorf("it has lines: %q", lines)
	}
	close(done)
	looks.Wait()
}

package collect

import (
	"errors"
	"io"
	"net"
	"os"
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

package collect

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
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
			if err != nil {
				t.Fatal(err)
			}
			defer line.Close()
			conn, err := net.Dial("tcp", line.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			peer, err := line.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer peer.Close()
			l := keepOpen(conn.(*net.TCPConn), line.(*net.TCPListener))
			if l == nil {
				t.Fatal("no shell")
			}
			conn.Close()
			if err := peer.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection ended with its process: %v", err)
			}
			if err := peer.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			end(l)
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("it is still open: %v", err)
			}
		})
	}
}

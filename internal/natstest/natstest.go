// Package natstest runs NATS servers for tests: in their own process, or as a process.
package natstest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// begin starts a server that takes no signals and logs nothing, and waits until it serves.
func begin(o *server.Options) (*server.Server, error) {
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return nil, errors.New("the NATS server does not start")
	}
	return s, nil
}

// Start starts a server until the test ends at the latest.
func Start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := begin(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop(s) })
	return s
}

// JetStream starts a server that keeps streams, until the test ends, and gives its URL.
func JetStream(t testing.TB) string {
	t.Helper()
	return Start(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true}).ClientURL()
}

// Stop ends a server, if it has not ended yet.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Serve is all that a process does that is a server: it says where it listens, and waits for its
// end.
func Serve(o *server.Options) {
	s, err := begin(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening public=" + s.Addr().String())
	s.WaitForShutdown()
}

// Package natstest runs NATS servers for tests: in their own process, or as a process.
package natstest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"
)

// Main runs a package's tests, and holds that they leave no goroutine. A stream that is made while
// a server is stopped keeps two loops of the server's: of the test's own, not of what is tested.
func Main(m *testing.M) {
	const of = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(of+".(*fileStore).flushStreamStateLoop"), goleak.IgnoreTopFunction(of+"/ats.Register.func1"))
}

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
	return Start(t, Streams(t)).ClientURL()
}

// Streams are the options of a server that keeps streams, in a folder of the test's, as large as
// they may be whatever the disk has.
func Streams(t testing.TB) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, JetStreamMaxStore: 8 << 30, StoreDir: t.TempDir(), SyncAlways: true,
	}
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

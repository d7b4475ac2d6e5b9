package nats

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"whittle/systems/ingest/stream"
)

// serveAt, in the environment, makes this test's program a NATS server: its
// value is an address and a folder.
const serveAt = "WHITTLE_TEST_NATS"

func TestMain(m *testing.M) {
	if os.Getenv(serveAt) != "" {
		serveForever()
		return
	}
	// The client leaves a goroutine behind where a publisher is cleaned up before it ran.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// serveForever runs a server on TCP until the standard input ends, as it does
// with the test's own end.
func serveForever() {
	var port int
	var dir string
	if _, err := fmt.Sscan(os.Getenv(serveAt), &port, &dir); err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		panic("not ready")
	}
	fmt.Println("ready", s.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}

// remote is a NATS server in another process.
type remote struct {
	t    *testing.T
	port int
	dir  string
	cmd  *exec.Cmd
	hold io.Closer
}

// startRemote starts one, on a free port, that ends with the test.
func startRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{t: t, port: server.RANDOM_PORT, dir: t.TempDir()}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *remote) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", r.port) }

// start returns when the server takes connections.
func (r *remote) start() {
	r.t.Helper()
	r.cmd = exec.Command(os.Args[0])
	r.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", serveAt, r.port, r.dir))
	r.cmd.Stderr = os.Stderr
	in, err := r.cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.hold = in
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fscanf(out, "ready %d\n", &r.port); err != nil {
		r.t.Fatal(err)
	}
}

// kill ends it as a crash would.
func (r *remote) kill() {
	if r.cmd != nil {
		r.cmd.Process.Kill()
		r.cmd.Wait()
		r.hold.Close()
		r.cmd = nil
	}
}

// openAt opens a stream of its own, closed with the test.
func openAt(t *testing.T, o Options) *Log {
	t.Helper()
	if o.Stream == "" {
		o.Stream = "events"
	}
	if o.URL != "" && o.Create == nil {
		o.Create = &Create{}
	}
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		l.Close(ctx)
	})
	return l
}

func embedded(t *testing.T) *Log {
	t.Helper()
	return openAt(t, Options{Embedded: &Embedded{Dir: t.TempDir()}})
}

func sealed(id, key, value string) stream.Record {
	r := stream.Record{ID: id, Key: key, Time: time.Unix(1700000000, 123456789).UTC(), Value: []byte(value)}
	r.Seal()
	return r
}

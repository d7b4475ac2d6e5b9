package nats

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
)

// serveAt, in the environment, makes this test's program a NATS server: its
// value is an address and a folder.
const serveAt = "WHITTLE_TEST_NATS"

func TestMain(m *testing.M) {
	if at := os.Getenv(serveAt); at != "" {
		o := &server.Options{Host: "127.0.0.1", JetStream: true, SyncAlways: true}
		if _, err := fmt.Sscan(at, &o.Port, &o.StoreDir); err != nil {
			panic(err)
		}
		natstest.Serve(o)
		return
	}
	// The client leaves a goroutine behind where a publisher is cleaned up before it ran.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// remote is a NATS server in another process.
type remote struct {
	t    *testing.T
	port string
	dir  string
	*child.Process
}

// startRemote starts one, on a free port, that ends with the test.
func startRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{t: t, port: strconv.Itoa(server.RANDOM_PORT), dir: t.TempDir()}
	r.start()
	t.Cleanup(func() { r.Kill() })
	return r
}

func (r *remote) url() string { return "nats://127.0.0.1:" + r.port }

// start returns when the server takes connections.
func (r *remote) start() {
	r.t.Helper()
	var err error
	if r.Process, err = child.Start(r.t.Context(), child.Options{Env: []string{serveAt + "=" + r.port + " " + r.dir}}, os.Args[0]); err != nil {
		r.t.Fatal(err)
	}
	_, r.port, _ = strings.Cut(r.Public, ":")
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
	fatal.If(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		l.Close(ctx)
	})
	return l
}

func served(t *testing.T) *Log {
	t.Helper()
	return openAt(t, Options{URL: natstest.JetStream(t)})
}

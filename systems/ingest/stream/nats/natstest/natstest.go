// Package natstest is a NATS server for tests.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle/internal/fatal"
)

// Start runs a server with JetStream in this process, on a free port, until the test ends,
// and gives its URL.
func Start(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
		MaxPayload: 8 << 20, MaxPending: 64 << 20, NoSigs: true, NoLog: true,
	})
	fatal.If(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	return s.ClientURL()
}

// Package natstest is a NATS server for tests.
package natstest

import (
	"cmp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// Create makes a stream that keeps in files what is published on NAME.records. A bound of
// bytes makes a full one refuse; 0: none.
func Create(t testing.TB, url, name string, bytes int64) {
	t.Helper()
	conn, err := nats.Connect(url)
	fatal.If(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	fatal.If(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".records"}, Discard: jetstream.DiscardNew, MaxBytes: cmp.Or(bytes, -1),
	})
	fatal.If(t, err)
}

package nats

import (
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle"
	"whittle/internal/filelock"
)

// maxPayload is the largest message that an embedded server takes, in bytes.
const maxPayload = 8 << 20

// embeddedServer is the embedded server with its folder's lock.
type embeddedServer struct {
	*server.Server
	lock *os.File
}

func (e *embeddedServer) end() {
	e.Shutdown()
	e.WaitForShutdown()
	e.lock.Close()
}

// claim makes the folder and locks it: JetStream itself would let two servers
// write into one, to the ruin of both.
func claim(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "make the embedded NATS server's folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "lock the embedded NATS server's folder: %w", err)
	}
	if err := filelock.Hold(lock); err != nil {
		lock.Close()
		return nil, whittle.Errorf(whittle.FailedPrecondition, "the embedded NATS server's folder %s is in use: %w", dir, err)
	}
	return lock, nil
}

// serve starts the embedded server.
func serve(e *Embedded) (*embeddedServer, error) {
	lock, err := claim(e.Dir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName:         "whittle",
		DontListen:         true,
		JetStream:          true,
		JetStreamMaxStore:  e.MaxBytes,
		JetStreamMaxMemory: 1, // nothing is kept in memory
		StoreDir:           e.Dir,
		SyncAlways:         true,
		SyncInterval:       time.Minute, // of what is not a message
		MaxPayload:         maxPayload,
		MaxPending:         8 * maxPayload,
		NoSigs:             true,
		NoLog:              true,
	})
	if err != nil {
		lock.Close()
		return nil, whittle.Errorf(whittle.Invalid, "make embedded NATS server: %w", err)
	}
	started := &embeddedServer{s, lock}
	s.Start()
	const timeout = 30 * time.Second // a large store is read at the start
	if !s.ReadyForConnections(timeout) || !s.JetStreamEnabled() {
		started.end()
		return nil, whittle.Errorf(whittle.Internal, "the embedded NATS server does not start on %s", e.Dir)
	}
	return started, nil
}

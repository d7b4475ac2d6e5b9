// Package natsserver runs a NATS server in a gateway's own process, clustered with those
// of the gateways that are its peers: three gateways are a fleet with nothing else
// installed.
//
// Its only client is the gateway, within the process. A server needs a port for clients to
// join a cluster, so there is one on loopback, with a password that nobody else knows. Peers
// use the cluster's port, which asks for the fleet's secret.
package natsserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle"
	"whittle/internal/filelock"
	"whittle/internal/notify"
)

// Options say which server of which cluster. All are required but TLS and Log.
type Options struct {
	// Cluster is the fleet's name, Name that of this server in it. A server keeps its name
	// over restarts.
	Cluster, Name string
	// Listen is where peers connect, host:port.
	Listen string
	// Peers are the addresses of all servers by name, with this one's own.
	Peers map[string]string
	// Secret is what peers show to each other.
	Secret string
	// TLS is how they speak, on both sides. Nil: in plain text.
	TLS *tls.Config
	// Dir is this server's own folder, and MaxBytes bounds what is in it.
	Dir      string
	MaxBytes int64
	// Log gets what an operator should know. Nil: discarded.
	Log *slog.Logger
}

// User is the name of whoever speaks to the server.
const User = "whittle"

const (
	// maxPayload is the largest message, in bytes: an exchange with its head.
	maxPayload = 2 << 20
	// startTime bounds the start of a server: a large store is read then.
	startTime = time.Minute
	// look is how often it is looked at whether the server still keeps what it is given,
	// and again, at most again Most, how long a server that does not is let be.
	look      = time.Second
	again     = 2 * time.Second
	againMost = time.Minute
	// connections bounds who may try the port that no client is told of.
	connections = 64
)

// Server is the server in this process. One that has stopped, because its disk was full,
// is started anew. Its methods may be called by several goroutines.
type Server struct {
	o       Options
	options server.Options
	// password is what the gateway shows to its server.
	password string
	lock     *os.File
	log      *logger
	now      atomic.Pointer[server.Server] // nil: none runs
	end      context.CancelFunc
	work     sync.WaitGroup
}

// Start claims the folder and the address, and starts the server. It is not waited for.
func Start(o Options) (*Server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{o: o, log: newLogger(o.Log), password: rand.Text()}
	if err := s.configure(); err != nil {
		return nil, err
	}
	return s, s.Resume()
}

// Resume starts a server that has not been started, or was ended, and does not wait for it.
func (s *Server) Resume() (err error) {
	if err := s.tryAddress(); err != nil {
		return err
	}
	if s.lock, err = claim(s.o.Dir); err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.work.Go(func() { s.run(ctx) })
	return nil
}

// configure makes the server's settings. What it may use is bounded: no memory for
// streams, MaxBytes on the disk.
func (s *Server) configure() error {
	host, port, err := net.SplitHostPort(s.o.Listen)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "listen on %s: %w", s.o.Listen, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "listen on %s: %w", s.o.Listen, err)
	}
	s.options = server.Options{
		ServerName: s.o.Name, NoSigs: true, NoLog: true,
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: User, Password: s.password, MaxConn: connections,
		LameDuckDuration: time.Second, LameDuckGracePeriod: -1, // its client has gone before
		JetStream: true, JetStreamMaxMemory: 1, JetStreamMaxStore: s.o.MaxBytes, StoreDir: s.o.Dir,
		SyncAlways: true, MaxPayload: maxPayload, MaxPending: 16 * maxPayload,
		Cluster: server.ClusterOpts{
			Name: s.o.Cluster, Host: host, Port: number, NoAdvertise: true, Username: User, Password: s.o.Secret, AuthTimeout: 5,
		},
	}
	if s.o.TLS != nil {
		s.options.Cluster.TLSConfig, s.options.Cluster.TLSTimeout = s.o.TLS, 5
	}
	for _, address := range s.o.Peers { // its own as well: their number is the cluster's
		s.options.Routes = append(s.options.Routes, &url.URL{Scheme: "nats", Host: address, User: url.UserPassword(User, s.o.Secret)})
	}
	slices.SortFunc(s.options.Routes, func(a, b *url.URL) int { return cmp.Compare(a.Host, b.Host) })
	return nil
}

// tryAddress finds out whether the address can be had, which the server says to its log
// alone.
func (s *Server) tryAddress() error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.o.Listen)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "listen on %s for the fleet's other gateways: %w", s.o.Listen, err).WithField("fleet.peers").
			WithHint("is another process there, or is the address not this machine's? fleet.listen names another one to listen on")
	}
	return l.Close()
}

// claim makes the folder, finds out whether it can be written to, and locks it: JetStream
// itself would let two servers write into one, to the ruin of both.
func claim(dir string) (*os.File, error) {
	fail := func(err error) error {
		return whittle.Errorf(whittle.Unavailable, "use %s for the fleet's store: %w", dir, err).WithField("fleet.store").
			WithHint("give the user that runs whittle the right to write this folder, or name another one (fleet.store)")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	if err := filelock.Hold(lock); err != nil {
		lock.Close()
		return nil, whittle.Errorf(whittle.FailedPrecondition, "use %s for the fleet's store: another process has it", dir).WithField("fleet.store").
			WithHint("each gateway has a folder of its own (fleet.store)")
	}
	probe, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		lock.Close()
		return nil, fail(err)
	}
	_, err = probe.WriteString("whittle")
	if err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name())); err != nil {
		lock.Close()
		return nil, fail(err)
	}
	return lock, nil
}

// run keeps a server running until ctx ends.
func (s *Server) run(ctx context.Context) {
	for wait := again; ctx.Err() == nil; wait = min(2*wait, againMost) {
		begun := time.Now()
		err := s.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > againMost {
			wait = again
		}
		s.log.trouble.Store(&err)
		s.o.Log.Error("the fleet's NATS server in this process has stopped, and is started again; is its disk full?", "store", s.o.Dir, "err", err, "in", wait)
		notify.Sleep(ctx, wait)
	}
}

// runOnce starts a server and returns when it has ended, or does not keep anything.
func (s *Server) runOnce(ctx context.Context) error {
	o := s.options // a server writes into its own
	n, err := server.NewServer(&o)
	if err != nil {
		return err
	}
	n.SetLoggerV2(s.log, false, false, false)
	defer func() {
		s.now.Store(nil)
		n.Shutdown()
		n.WaitForShutdown()
	}()
	n.Start()
	if !n.ReadyForConnections(startTime) {
		return errors.New("it does not start")
	}
	s.now.Store(n)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for n.Running() && n.JetStreamEnabled() {
		s.log.trouble.Store(nil)
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.LameDuckShutdown() // the others take over what it leads at once, not after seconds
			return nil
		}
	}
	return errors.New("it keeps nothing any more")
}

// Password is what the server's client shows to it, as User.
func (s *Server) Password() string { return s.password }

// InProcessConn connects to the server that runs now.
func (s *Server) InProcessConn() (net.Conn, error) {
	n := s.now.Load()
	if n == nil {
		return nil, errors.New("the NATS server in this process does not run")
	}
	return n.InProcessConn()
}

// Trouble is what keeps the server from being of use, as far as is known. Empty: nothing.
func (s *Server) Trouble() string {
	if err := s.log.trouble.Load(); err != nil {
		return (*err).Error()
	}
	n := s.now.Load()
	if n == nil {
		return "the NATS server in this process has not started yet"
	}
	if away := s.away(n); len(away) > 0 {
		return "the gateways' own NATS servers see no " + strings.Join(away, ", no ") +
			": are they up, where fleet.peers says, with the same secret? They keep something while more than half of them are there, and begin when as many are as keep a copy"
	}
	return ""
}

// away are the peers to which there is no connection, in order.
func (s *Server) away(n *server.Server) (names []string) {
	there := map[string]bool{s.o.Name: true}
	if z, err := n.Routez(nil); err == nil {
		for _, r := range z.Routes {
			there[r.RemoteName] = true
		}
	}
	for name := range s.o.Peers {
		if !there[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// End ends the server, and returns when it has let go of everything. Once more does no harm.
func (s *Server) End() {
	s.end()
	s.work.Wait()
	s.lock.Close()
}

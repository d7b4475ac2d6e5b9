package natsserver

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are those of servers on this machine, one for each name.
func options(t *testing.T, names ...string) (all []Options) {
	t.Helper()
	peers := map[string]string{}
	addresses, err := child.Addresses(len(names))
	fatal.If(t, err)
	for i, name := range names {
		peers[name] = addresses[i]
	}
	for _, name := range names {
		all = append(all, Options{
			Cluster: "test", Name: name, Listen: peers[name], Peers: peers, Secret: "a secret", Dir: filepath.Join(t.TempDir(), "store"), MaxBytes: 64 << 20,
		})
	}
	return all
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	fatal.If(t, err)
	return s
}

func connect(t *testing.T, s *Server) jetstream.JetStream {
	t.Helper()
	var conn *client.Conn
	process.Until(t, "a connection", func() bool {
		var err error
		conn, err = client.Connect("", client.InProcessServer(s), client.UserInfo(User, s.Password()))
		return err == nil
	})
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	fatal.If(t, err)
	return js
}

// TestAServerThatKeepsNothing is started again, by itself.
func TestAServerThatKeepsNothing(t *testing.T) {
	s := start(t, options(t, "a", "b")[0])
	defer s.End()
	process.Until(t, "running", func() bool { _, err := s.InProcessConn(); return err == nil })
	old := s.now.Load()
	fatal.If(t, old.DisableJetStream()) // as it does itself where the disk is full
	process.Until(t, "another one", func() bool { n := s.now.Load(); return n != nil && n != old })
}

// TestTLS: servers with certificates of one authority are a cluster; one with another's is
// no part of it, though it knows the secret, and neither is one in plain text.
func TestTLS(t *testing.T) {
	ours := certtest.New(t)
	by := func(a *certtest.Authority, address string) *tls.Config {
		host, _, _ := strings.Cut(address, ":")
		return &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: ours.Pool(),
			ClientCAs: ours.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
			Certificates: []tls.Certificate{a.For(t, host).Certificate},
		}
	}
	o := options(t, "a", "b", "c", "d")
	o[0].TLS, o[1].TLS, o[2].TLS = by(ours, o[0].Listen), by(ours, o[1].Listen), by(certtest.New(t), o[2].Listen)
	var all []*Server
	for _, one := range o {
		s := start(t, one)
		defer s.End()
		all = append(all, s)
	}
	there := func(s *Server) int {
		n := s.now.Load()
		if n == nil {
			return 0
		}
		return len(o) - 1 - len(s.away(n))
	}
	process.Until(t, "two are a cluster", func() bool {
		return there(all[0]) == 1 && there(all[1]) == 1 && all[2].now.Load() != nil && all[3].now.Load() != nil
	})
	for _, s := range all[2:] {
		process.Until(t, "it is refused, and says so", func() bool { return s.log.limit.Tokens() <= 9 })
	}
	for i, want := range []int{1, 1, 0, 0} {
		fatal.Same(t, there(all[i]), want, "the others that %s sees", o[i].Name)
	}
}

// TestACluster: three servers keep what one of them is given; another one ends and comes
// back with what it had and what it missed; a stranger without the secret is no part.
func TestACluster(t *testing.T) {
	o := options(t, "a", "b", "c")
	a, b, c := start(t, o[0]), start(t, o[1]), start(t, o[2])
	defer func() { a.End(); b.End(); c.End() }()
	js := connect(t, a)
	var kv jetstream.KeyValue
	process.Until(t, "a bucket", func() bool {
		var err error
		kv, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "kept", Replicas: 3, MaxBytes: 1 << 20})
		return err == nil
	})
	put := func(key string) {
		t.Helper()
		process.Until(t, "it is written", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := kv.Put(ctx, key, []byte(key))
			return err == nil
		})
	}
	put("before")
	c.End()
	put("while-c-is-away")
	if why := a.Trouble(); !strings.Contains(why, "see no c:") {
		t.Errorf("while c is away: %q", why)
	}

	wrong := o[2]
	wrong.Secret, wrong.Dir = "another secret", t.TempDir()
	stranger := start(t, wrong)
	process.Until(t, "it runs, and is not taken in", func() bool { n := stranger.now.Load(); return n != nil && n.NumRoutes() == 0 })
	stranger.End()

	fatal.If(t, c.Resume())
	js = connect(t, c)
	b.End()
	process.Until(t, "it is kept without b", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		kv, err := js.KeyValue(ctx, "kept")
		if err == nil {
			_, err = kv.Get(ctx, "while-c-is-away")
		}
		return err == nil
	})
}

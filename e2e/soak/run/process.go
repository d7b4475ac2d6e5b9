package run

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"whittle/bench/server"
	"whittle/e2e/soak/origin"
	"whittle/internal/child"
)

// playEnv marks a binary as an upstream of a soak: its part, its address, the file of
// the writes.
const playEnv = "WHITTLE_SOAK_PLAY"

// Play is called first in main, and in TestMain: a process that was started as an
// upstream is one, and does not return.
func Play() {
	text := os.Getenv(playEnv)
	if text == "" {
		return
	}
	if err := play(strings.Fields(text)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(as []string) error {
	const parts = 3
	if len(as) != parts {
		return fmt.Errorf("play an upstream: %q", as)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", as[1])
	if err != nil {
		return err
	}
	writes, err := origin.OpenWrites(as[2])
	if err != nil {
		return err
	}
	defer func() { _ = writes.Close() }() // the file has them
	fmt.Println("listening public=" + l.Addr().String())
	s := origin.Server{Candidate: as[0] == "candidate", Writes: writes}
	return s.Serve(ctx, l)
}

// upstream is one that can be restarted where it is.
type upstream struct {
	part, writes string
	addr         string
	gone         outages
	process      *child.Process
	restarts     int
}

// start starts it; the first time at any port, then at that one.
func (u *upstream) start(ctx context.Context) (err error) {
	at := u.addr
	if at == "" {
		at = "127.0.0.1:0"
	}
	u.process, err = child.Start(ctx, child.Options{Env: []string{playEnv + "=" + strings.Join([]string{u.part, at, u.writes}, " ")}}, server.Self())
	if err == nil {
		u.addr = u.process.Public
	}
	return err
}

// restart ends it, by a crash or by a signal, and starts it again.
func (u *upstream) restart(ctx context.Context) error {
	defer u.gone.begin()()
	if u.restarts++; u.restarts%2 == 0 {
		u.process.Kill()
	} else {
		u.process.Stop()
	}
	return u.start(ctx)
}

// certificate makes a key and a certificate for 127.0.0.1 in a folder, and gives a
// client's side that trusts it.
func certificate(dir string) (*tls.Config, error) {
	public, err := server.Certificate(dir, "soak.example")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(public)
	return &tls.Config{RootCAs: roots, ServerName: "soak.example", MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

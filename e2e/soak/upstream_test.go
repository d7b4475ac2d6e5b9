package soak

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle/bench/server"
	"whittle/e2e/soak/origin"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// playEnv marks the test's binary as an upstream: its part, its address, the file of the writes.
const playEnv = "WHITTLE_SOAK_PLAY"

// play does not return where the process was started as an upstream.
func play() {
	text := os.Getenv(playEnv)
	if text == "" {
		return
	}
	if err := serve(strings.Fields(text)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(as []string) error {
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
	fmt.Println("listening public=" + l.Addr().String())
	s := origin.Server{Candidate: as[0] == "candidate", Writes: writes}
	return s.Serve(ctx, l)
}

// upstream is one that can be restarted where it is.
type upstream struct {
	t                  *testing.T
	part, addr, writes string
	gone               outages
	process            *child.Process
	restarts           int
}

// startUpstream starts one at any port, at which it stays.
func startUpstream(t *testing.T, part, writes string) *upstream {
	u := &upstream{t: t, part: part, addr: "127.0.0.1:0", writes: writes}
	u.start()
	t.Cleanup(func() { u.process.Kill() })
	return u
}

func (u *upstream) start() {
	var err error
	u.process, err = child.Start(context.WithoutCancel(u.t.Context()), child.Options{Env: []string{playEnv + "=" + strings.Join([]string{u.part, u.addr, u.writes}, " ")}}, server.Self())
	fatal.If(u.t, err)
	u.addr = u.process.Public
}

// restart ends it, by a crash or by a signal, and starts it again.
func (u *upstream) restart() {
	defer u.gone.begin()()
	if u.restarts++; u.restarts%2 == 0 {
		u.process.Kill()
	} else {
		u.process.Stop()
	}
	u.start()
}

// outages are the times in which something was not there, so that direct access to it
// would have failed as well.
type outages struct {
	mu   sync.Mutex // guards the following
	list []outage
}

type outage struct{ from, to time.Time } // to is zero while it lasts

// remembered is for how long an outage is kept: longer than any request takes.
const remembered = 3 * time.Minute

// begin begins one; end ends it.
func (o *outages) begin() (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.list) > 0 && !o.list[0].to.IsZero() && time.Since(o.list[0].to) > remembered {
		o.list = o.list[1:]
	}
	o.list = append(o.list, outage{from: time.Now()})
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list[len(o.list)-1].to = time.Now() // one at a time is under way
	}
}

// meets reports whether a time overlaps with any.
func (o *outages) meets(from, to time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.list {
		if !out.from.After(to) && (out.to.IsZero() || !out.to.Before(from)) {
			return true
		}
	}
	return false
}

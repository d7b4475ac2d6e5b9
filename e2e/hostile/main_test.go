// Package hostile shows that a candidate can do what it likes: users see the
// monolith's responses, in their usual time, and the gateway's memory stays
// bounded. The gateway runs as a process of its own, so that its memory can be
// measured.
package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/bench/server"
	"whittle/carve/gateway"
	"whittle/carve/gateway/listener"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// childEnv marks the test's own binary as the gateway's process.
const childEnv = "WHITTLE_HOSTILE_GATEWAY"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := serve(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(process.BothWays{M: m})
}

// setup configures the gateway's process; without a candidate all passes through.
type setup struct {
	Monolith, Candidate string
	Timeout             time.Duration
	Share               whittle.Share
	NetHTTP             bool
}

// report is what it says at its end.
type report struct {
	Ledger whittle.Ledger
	Trips  int
	Leak   string
	// Peak is the most memory that the process held, in bytes, as Linux says it; unlike that in
	// its resource usage it has nothing of its parent's.
	Peak int64
}

// maxBody is the bound on copied bodies, above what the tests send.
const maxBody = 256 << 10

func serve(spec string) error {
	var s setup
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	upstream := func(url string, timeout time.Duration) whittle.Upstream {
		return whittle.Upstream{URL: url, Timeout: timeout, MaxResponse: 1 << 20, MaxConns: 64, Insecure: true}
	}
	tripped := make(chan struct{}, 1024)
	o := gateway.Options{
		Monolith: upstream(s.Monolith, time.Minute), NetHTTP: s.NetHTTP,
		Observe: func(*whittle.Exchange) whittle.Observation { return whittle.Observation{} },
		Tripped: func(string, string, uint64) { tripped <- struct{}{} },
	}
	if s.Candidate == "" {
		o.Monolith = whittle.Upstream{URL: s.Monolith}
	} else {
		candidate := upstream(s.Candidate, s.Timeout)
		o.Routes = []whittle.Route{{
			Name: "/", Match: whittle.Match{Pattern: "/"}, Candidate: &candidate, Safe: true,
			Mirror: whittle.Mirror{
				Sample: whittle.All, Watch: whittle.All, Queue: 96, Concurrency: 16,
				MaxBody: maxBody, MaxMemory: 64 << 20,
			},
			Rollout: whittle.Rollout{Sticky: whittle.Sticky{By: "header", Name: "X-User"}},
			Guard:   whittle.Guard{Consecutive: 5, Exposure: 50},
		}}
	}
	g, err := gateway.New(o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, listener.Listener{Listener: l}) }()
	phase := whittle.PhaseShadow
	if s.Share > 0 {
		phase = whittle.PhaseShift
	}
	if s.Candidate != "" {
		g.Apply("/", whittle.Position{Generation: 1, Share: s.Share, Phase: phase})
	}
	reopened := make(chan int)
	go func() {
		n := 0
		for range tripped {
			n++
			g.Apply("/", whittle.Position{Generation: uint64(2 * n), Zero: uint64(2 * n), Phase: whittle.PhaseRolledBack})
			g.Apply("/", whittle.Position{Generation: uint64(2*n + 1), Zero: uint64(2 * n), Share: s.Share, Phase: phase}) // a stubborn operator: the candidate is asked again and again
		}
		reopened <- n
	}()
	fmt.Printf("listening public=%s\n", l.Addr())
	<-ctx.Done() // until the test ends it
	if err := <-served; err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		return err
	}
	close(tripped)
	r := report{Trips: <-reopened}
	if s.Candidate != "" {
		r.Ledger = g.Ledger("/")
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			_, _ = fmt.Sscan(rest, &r.Peak)
			r.Peak <<= 10
		}
	}
	if err := goleak.Find(); err != nil {
		r.Leak = err.Error()
	}
	return json.NewEncoder(os.Stderr).Encode(r)
}

// running is a gateway in a process of its own.
type running struct{ *child.Process }

func start(t *testing.T, s setup) *running {
	t.Helper()
	spec, err := json.Marshal(s)
	fatal.If(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	p, err := child.Start(ctx, child.Options{Env: []string{childEnv + "=" + string(spec)}}, server.Self())
	fatal.If(t, err)
	t.Cleanup(p.Kill)
	return &running{p}
}

func (p *running) url() string { return "http://" + p.Public }

// stop ends the process and gives its report, which it holds to what any is to be.
func (p *running) stop(t *testing.T) (r report) {
	t.Helper()
	fatal.If(t, p.Signal(syscall.SIGTERM))
	if err := p.Wait(); err != nil {
		t.Fatalf("the gateway ended with %v: %s", err, p.Tail())
	}
	said := strings.Split(strings.TrimSpace(p.Said()), "\n")
	fatal.If(t, json.Unmarshal([]byte(said[len(said)-1]), &r))
	if l := r.Ledger; l.Total != l.Sum() || l.Pending != 0 {
		t.Errorf("ledger %+v", l)
	}
	if r.Peak <= 0 && runtime.GOOS == "linux" {
		t.Fatal("the gateway's peak of memory is not known")
	}
	if r.Peak > memoryBound {
		t.Errorf("the gateway held %d MiB, bound %d", r.Peak>>20, memoryBound>>20)
	}
	fatal.Same(t, r.Leak, "", "the gateway left goroutines behind")
	return r
}

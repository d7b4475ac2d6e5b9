package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

// asDaemon marks the test's own binary as a process with a service.
const asDaemon = "WHITTLE_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		panic(err)
	}
}

// entered is what the service says on standard error once it has a request.
const entered = "the request is there"

// run is a process with one service, whose response takes until the process drains.
func run(ctx context.Context, stdout io.Writer) error {
	p := &Process{Log: Logger(os.Stderr, slog.LevelInfo, true), Registry: prometheus.NewRegistry(), Drain: time.Minute}
	defer p.Close()
	p.OnEnd(func() { p.Log.Info("released") })
	public, err := p.Listen(ctx, "-listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	admin, err := p.ListenLocal(ctx, "-admin", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.Add(Public, public, p.HTTP(NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.Log.Info(entered)
		<-ctx.Done()
		_, _ = io.WriteString(w, "served")
	}), p.Log), public))
	return p.Run(ctx, admin, stdout)
}

// TestProcess asks a real process for a response that is under way when it is asked
// to end: the user has it, and the process ends by itself, with nothing lost.
func TestProcess(t *testing.T) {
	said := make(chan []byte, 64)
	p, err := child.Start(t.Context(), child.Options{Env: []string{asDaemon + "=1"}, Output: lines(said)}, os.Args[0])
	fatal.If(t, err)
	defer p.Kill()
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		if res, body := process.Ask(t, http.MethodGet, "http://"+p.Admin+path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %q", path, res.StatusCode, body)
		}
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		for line := range said {
			if strings.Contains(string(line), entered) {
				p.Stop()
				return
			}
		}
	})
	if res, body := process.Ask(t, http.MethodGet, "http://"+p.Public, ""); res.StatusCode != http.StatusOK || body != "served" {
		t.Errorf("the request that was under way: %d %q", res.StatusCode, body)
	}
	ending.Wait()
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	tail := p.Said()
	for _, want := range []string{`"draining"`, `"stopped"`, `"released"`} {
		_, after, found := strings.Cut(tail, want)
		if tail = after; !found {
			t.Errorf("no %s in order:\n%s", want, p.Said())
		}
	}
}

// lines gives what is written to whoever reads them.
type lines chan<- []byte

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- append([]byte(nil), b...):
	default: // nobody reads any more
	}
	return len(b), nil
}

// TestRun ends the services, the last first, when one of them fails or nobody can be
// told where they listen, and gives the reason.
func TestRun(t *testing.T) {
	errFails := errors.New("the disk is full")
	for name, c := range map[string]struct {
		fails  error
		stdout io.Writer
		want   error
	}{
		"a service fails":         {errFails, io.Discard, errFails},
		"standard output is gone": {nil, broken{}, io.ErrClosedPipe},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Process{Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Drain: time.Minute}
			admin, err := p.ListenLocal(t.Context(), "-admin", "127.0.0.1:0")
			fatal.If(t, err)
			var order []string
			add := func(name string, fails error) {
				l, err := p.Listen(t.Context(), "-listen", "127.0.0.1:0")
				fatal.If(t, err)
				end := make(chan struct{})
				p.Add(name, l, Service{
					Serve: func() error {
						if fails == nil {
							<-end
						}
						return fails
					},
					Shutdown: func(context.Context) {
						order = append(order, name)
						close(end)
					},
				})
			}
			add("store", nil)
			add("front", c.fails)
			if err := p.Run(t.Context(), admin, c.stdout); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			p.Close()
			if got := strings.Join(order, " "); got != "front store" || p.Ready() {
				t.Errorf("ended %s, ready %v", got, p.Ready())
			}
		})
	}
}

// broken is a standard output that nobody reads.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestListen(t *testing.T) {
	p := &Process{}
	defer p.Close()
	held, err := p.Listen(t.Context(), "-listen", "127.0.0.1:0")
	fatal.If(t, err)
	for name, c := range map[string]struct {
		listen  func(context.Context, string, string) (net.Listener, error)
		address string
		want    whittle.Code
	}{
		"no port":                     {p.Listen, "127.0.0.1", whittle.Invalid},
		"a port that is taken":        {p.Listen, held.Addr().String(), whittle.Unavailable},
		"an admin port for everybody": {p.ListenLocal, "0.0.0.0:0", whittle.Invalid},
	} {
		_, err := c.listen(t.Context(), "-listen", c.address)
		whittletest.Refused(t, err, c.want, name)
	}
}

func TestDefaultEnvFileMayBeMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	if values, err := EnvFile(DefaultEnvFile); err != nil || len(values) != 0 {
		t.Errorf("%v, %v, want nothing", values, err)
	}
	fatal.If(t, os.WriteFile(DefaultEnvFile, []byte("A=1\n"), 0o600))
	if values, err := EnvFile(DefaultEnvFile); err != nil || values["A"] != "1" {
		t.Errorf("%v, %v, want A=1", values, err)
	}
}

// TestALongEnvFileIsRefused whole: what its end says would be left out, and nobody told.
func TestALongEnvFileIsRefused(t *testing.T) {
	path := t.TempDir() + "/long"
	text := "A=1\n" + strings.Repeat("# a note\n", maxEnvFile/9+1) + "B=2\n"
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	if values, err := EnvFile(path); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("%v, %v", values, err)
	}
}

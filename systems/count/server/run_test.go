package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// gated counts when its gate opens, and says when it was entered.
type gated struct{ entered, gate chan struct{} }

func (g gated) Count(ctx context.Context, times int32) (int64, error) {
	g.entered <- struct{}{}
	select {
	case <-g.gate:
		return int64(times), nil
	case <-ctx.Done():
		return 0, whittle.Errorf(whittle.CodeOf(context.Cause(ctx)), "count ended early: %w", context.Cause(ctx))
	}
}

// running is a program under way.
type running struct {
	public, admin string
	stop          context.CancelFunc
	ended         chan error
}

func run(t *testing.T, c Counter, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	r := &running{stop: cancel, ended: make(chan error, 1)}
	stopped := false
	p := Program{Name: "probe", Start: func(prometheus.Registerer) (Counter, func(), error) {
		return c, func() { stopped = true }, nil
	}}
	args = append([]string{"-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", ""}, args...)
	go func() {
		err := p.Run(ctx, args, func(string) string { return "" }, in, t.Output())
		in.CloseWithError(io.EOF)
		if !stopped {
			err = errors.Join(err, errors.New("the counter was not stopped"))
		}
		r.ended <- err
	}()
	if _, err := fmt.Fscanf(out, "listening public=%s admin=%s\n", &r.public, &r.admin); err != nil {
		t.Fatalf("nothing listens: %v, %v", err, <-r.ended)
	}
	r.public, r.admin = "http://"+r.public, "http://"+r.admin
	return r
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	fatal.If(t, <-r.ended)
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	res, text := process.Ask(t, http.MethodGet, url, "", "Host: "+host)
	return res.StatusCode, text
}

// call sends one count in the background and gives its status and text.
func (r *running) call(t *testing.T) <-chan string {
	t.Helper()
	response := make(chan string, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.public+twirpPath, strings.NewReader(`{"times":3}`))
	fatal.If(t, err)
	req.Header.Set("Content-Type", "application/json")
	go func() {
		res, err := client.Do(req)
		if err != nil {
			response <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		response <- res.Status + " " + string(text)
	}()
	return response
}

func TestAdminPort(t *testing.T) {
	r := run(t, fake{})
	fatal.Same(t, <-r.call(t), `200 OK {"Sum":150}`, "count")
	for path, want := range map[string]string{
		"/readyz":             "ok\n",
		"/metrics":            `count_calls_total{code="ok",endpoint="/twirp.carved.Carved/Count",protocol="twirp"} 1`,
		"/debug/pprof/":       "goroutine",
		"/debug/pprof/symbol": "num_symbols",
	} {
		if code, text := get(t, r.admin+path, "localhost"); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, want 200 with %q", path, code, want)
		}
	}
	if code, _ := get(t, r.admin+"/metrics", "example.com"); code != http.StatusForbidden {
		t.Errorf("asked as another host: %d, want 403", code)
	}
	if code, _ := get(t, r.public+"/metrics", ""); code != http.StatusNotFound {
		t.Errorf("metrics on the public port: %d, want 404", code)
	}
	r.stop()
	r.wait(t)
}

func TestDrainLetsCallsFinish(t *testing.T) {
	g := gated{make(chan struct{}), make(chan struct{})}
	r := run(t, g)
	response := r.call(t)
	<-g.entered
	r.stop()
	// The admin port tells that the end has begun while the call is under way.
	process.Until(t, "it is not ready any more", func() bool {
		code, _ := get(t, r.admin+"/readyz", "")
		return code == http.StatusServiceUnavailable
	})
	close(g.gate)
	fatal.Same(t, <-response, `200 OK {"Sum":3}`, "call under way")
	r.wait(t)
}

func TestDrainCancelsWhatIsLate(t *testing.T) {
	g := gated{make(chan struct{}), make(chan struct{})}
	r := run(t, g, "-drain", "10ms")
	response := r.call(t)
	<-g.entered
	r.stop()
	if got := <-response; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, `"unavailable"`) {
		t.Errorf("call under way: %q, want 503 unavailable", got)
	}
	r.wait(t)
}

func TestGoneClientEndsItsCall(t *testing.T) {
	g := gated{make(chan struct{}), make(chan struct{})}
	r := run(t, g)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.public, "http://"))
	fatal.If(t, err)
	if _, err := io.WriteString(conn, "POST "+twirpPath+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	conn.Close()
	r.stop() // waits for the call, whose gate never opens
	r.wait(t)
}

func TestWrongUsage(t *testing.T) {
	envFile := filepath.Join(t.TempDir(), "bad.env")
	fatal.If(t, os.WriteFile(envFile, []byte("COUNT_DRAIN=soon\n"), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer taken.Close()
	for _, c := range []struct {
		args string
		env  string
		code whittle.Code
		says string
	}{
		{"-admin 0.0.0.0:6667", "", whittle.Invalid, "not a loopback address"},
		{"-admin :6667", "", whittle.Invalid, "not a loopback address"},
		{"-admin example.com:6667", "", whittle.Invalid, "not a loopback address"},
		{"-admin [::]:6667", "", whittle.Invalid, "not a loopback address"},
		{"-listen :6667 -admin 127.0.0.1:6667", "", whittle.Invalid, "has the public port"},
		{"-listen 127.0.0.1:http -admin 127.0.0.1:80", "", whittle.Invalid, "has the public port"},
		{"-listen 6666", "", whittle.Invalid, "is not host:port"},
		{"-listen 127.0.0.1:70000", "", whittle.Invalid, "no usable port"},
		{"-listen " + taken.Addr().String(), "", whittle.Unavailable, "open port"},
		{"-deadline 0s", "", whittle.Invalid, "-deadline is 0s"},
		{"-drain -1s", "", whittle.Invalid, "-drain is -1s"},
		{"-max-conns 0", "", whittle.Invalid, "-max-conns is 0"},
		{"-speed 3", "", whittle.Invalid, "not defined: -speed"},
		{"now", "", whittle.Invalid, `"now" is not a flag`},
		{"", "COUNT_LOG_LEVEL=loud", whittle.Invalid, `COUNT_LOG_LEVEL="loud" in the environment is not a value for -log-level`},
		{"-env-file " + envFile, "", whittle.Invalid, `COUNT_DRAIN="soon" in ` + envFile},
		{"-env-file " + envFile + ".none", "", whittle.Invalid, "read env file"},
	} {
		p := Program{Name: "probe", Start: func(prometheus.Registerer) (Counter, func(), error) { return fake{}, func() {}, nil }}
		getenv := func(name string) string {
			if k, v, _ := strings.Cut(c.env, "="); k == name {
				return v
			}
			return ""
		}
		// A usage that is taken for right serves until this ends it.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := p.Run(ctx, append([]string{"-admin", "127.0.0.1:0"}, strings.Fields(c.args)...), getenv, io.Discard, io.Discard)
		whittletest.Refused(t, err, c.code, fmt.Sprintf("%s %s", c.args, c.env), c.says)
	}
}

func TestFlagBeforeEnvironmentBeforeFile(t *testing.T) {
	envFile := filepath.Join(t.TempDir(), "test.env")
	fatal.If(t, os.WriteFile(envFile, []byte("COUNT_DRAIN=1s\nCOUNT_DEADLINE=\"2s\"\nCOUNT_MAX_CONNS=3\nOTHER=x\n"), 0o600))
	env := map[string]string{"COUNT_ENV_FILE": envFile, "COUNT_DRAIN": "10s", "COUNT_DEADLINE": "20s", "COUNT_MAX_CONNS": ""}
	var c config
	f := flag.NewFlagSet("probe", flag.ContinueOnError)
	c.register(f)
	fatal.If(t, f.Parse([]string{"-drain", "100s"}))
	fatal.If(t, fill(f, func(name string) string { return env[name] }))
	if c.drain != 100*time.Second || c.deadline != 20*time.Second || c.maxConns != 3 || c.listen != ":6666" {
		t.Errorf("drain %v, deadline %v, max-conns %d, listen %s; want 100s of the flag, 20s of the environment, 3 of the file, :6666 by default",
			c.drain, c.deadline, c.maxConns, c.listen)
	}
}

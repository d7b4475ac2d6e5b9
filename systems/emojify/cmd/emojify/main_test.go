package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"whittle/systems/emojify/rpc"
)

// asCommand makes the test's own binary the real command, so that a test has a
// process of it without a build.
const asCommand = "EMOJIFY_TEST_IS_EMOJIFY"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

// process is a running emojify of which the test holds the pid.
type process struct {
	cmd                  *exec.Cmd
	public, admin, cache string // HOST:PORT
	log                  *bytes.Buffer
	printed              *written
	reading              sync.WaitGroup
	ended                bool
}

// written is what a process prints after its first line.
type written struct {
	mu   sync.Mutex // guards the following
	head []byte     // the first of it
	size int
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head = append(w.head, b[:min(len(b), 1000-len(w.head))]...)
	w.size += len(b)
	return len(b), nil
}

func (w *written) seen() (string, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.head), w.size
}

var listening = regexp.MustCompile(`^listening public=(\S+) admin=(127\.0\.0\.1:\d+)(?: cache=(127\.0\.0\.1:\d+) facebox=127\.0\.0\.1:\d+)?\n$`)

// start runs a verb on free ports and waits for its line.
func start(t testing.TB, verb string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{verb, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)
	p := &process{cmd: exec.CommandContext(context.Background(), self, args...), log: &bytes.Buffer{}, printed: &written{}}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stderr = p.log
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { p.stop(t) })
	lines := bufio.NewReaderSize(r, 1<<20)
	_ = r.SetReadDeadline(time.Now().Add(patience))
	line, err := lines.ReadString('\n')
	_ = r.SetReadDeadline(time.Time{})
	p.reading.Go(func() {
		_, _ = io.Copy(p.printed, lines)
		r.Close()
	})
	found := listening.FindStringSubmatch(line)
	if found == nil {
		p.stop(t)
		t.Fatalf("it said %q (%v) in place of where it listens\n%s", line, err, p.log)
	}
	p.public, p.admin, p.cache = found[1], found[2], found[3]
	return p
}

// stop ends the process as an operator would and expects a clean end.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if p.ended {
		return
	}
	p.ended = true
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	err := p.cmd.Wait()
	p.reading.Wait()
	if err != nil {
		t.Errorf("it ended with %v\n%s", err, p.log)
	}
}

func get(t testing.TB, url string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func do(t testing.TB, req *http.Request) (int, []byte) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-tick.C
	}
}

// store puts a picture into a cache, as the API would, and gives its id.
func store(t testing.TB, address string, picture []byte) string {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sum := sha256.Sum256(picture)
	id := hex.EncodeToString(sum[:])
	stream, err := rpc.NewCacheServiceClient(conn).Put(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&rpc.PutRequest{Key: id, Data: picture}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	return id
}

// two starts the API before a cache, each a process; face detection is not
// needed for what is in the cache.
func two(t testing.TB, args ...string) (api, cache *process) {
	t.Helper()
	cache = start(t, "cache", "--dir", t.TempDir())
	return start(t, "api", append([]string{"--cache", cache.public, "--facebox", "http://127.0.0.1:1"}, args...)...), cache
}

func TestDebugPrintIsOffUnlessAsked(t *testing.T) {
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0, 1, 200, 'x'}, 50_000)...)
	for _, c := range []struct {
		args   []string
		prints bool
	}{{nil, false}, {[]string{"--debug-print"}, true}} {
		api, cache := two(t, c.args...)
		id := store(t, cache.public, picture)
		if code, got := get(t, "http://"+api.public+"/cache/"+id); code != 200 || !bytes.Equal(got, picture) {
			t.Errorf("%v: %d, %d bytes", c.args, code, len(got))
		}
		api.stop(t)
		head, size := api.printed.seen()
		if c.prints && (!strings.HasPrefix(head, "err size:200008") || size < len(picture)) || !c.prints && size > 0 {
			t.Errorf("%v: printed %d bytes, %.80q", c.args, size, head)
		}
	}
}

func TestAdminPort(t *testing.T) {
	api, cache := two(t)
	id := store(t, cache.public, []byte("GIF89a, or so"))
	for range 3 {
		get(t, "http://"+api.public+"/cache/"+id)
	}
	for _, c := range []struct{ url, says string }{
		{api.admin + "/livez", "ok"},
		{api.admin + "/readyz", "ok"},
		{api.admin + "/metrics", `http_requests_total{code="200",method="GET",route="/cache/{id}"} 3`},
		{api.admin + "/metrics", `emojify_upstream_attempts_total{code="ok",upstream="cache"} 3`},
		{api.admin + "/debug/pprof/goroutine?debug=1", "goroutine profile"},
		{cache.admin + "/readyz", "ok"},
		{cache.admin + "/metrics", `cache_calls_total{code="OK",endpoint="/emojify.cache.v1.CacheService/Get"} 3`},
		{cache.admin + "/metrics", "cache_hits_total 3"},
	} {
		if code, b := get(t, "http://"+c.url); code != 200 || !strings.Contains(string(b), c.says) {
			t.Errorf("%s: %d, without %s", c.url, code, c.says)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+api.admin+"/metrics", nil)
	req.Host = "attacker.example"
	if code, _ := do(t, req); code != http.StatusForbidden {
		t.Errorf("under a strange name: %d, want 403", code)
	}
	if code, _ := get(t, "http://"+api.public+"/debug/pprof/"); code == 200 {
		t.Error("profiles are public")
	}
}

func TestFaultsAreAsAsked(t *testing.T) {
	api, cache := two(t, "--cache-errors", "1")
	id := store(t, cache.public, []byte("GIF89a, or so"))
	if code, b := get(t, "http://"+api.public+"/cache/"+id); code != 503 || !strings.Contains(string(b), "as its setting says") {
		t.Errorf("%d %s", code, b)
	}
	begun := time.Now()
	api, cache = two(t, "--cache-delay", "50ms")
	id = store(t, cache.public, []byte("GIF89a, or so"))
	if code, _ := get(t, "http://"+api.public+"/cache/"+id); code != 200 || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("%d after %v", code, time.Since(begun))
	}
}

func TestHealthNamesWhatIsAway(t *testing.T) {
	api, _ := two(t)
	code, b := get(t, "http://"+api.public+"/health")
	if code != 503 || !strings.Contains(string(b), `"cache":"ok"`) || strings.Contains(string(b), `"faceDetection":"ok"`) {
		t.Errorf("%d %s", code, b)
	}
}

func TestCacheOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	cache := start(t, "cache", "--dir", dir)
	id := store(t, cache.public, []byte("GIF89a, or so"))
	api := start(t, "api", "--cache", cache.public, "--facebox", "http://127.0.0.1:1")
	// Killed, not ended.
	_ = cache.cmd.Process.Kill()
	_ = cache.cmd.Wait()
	cache.reading.Wait()
	cache.ended = true
	if code, b := get(t, "http://"+api.public+"/cache/"+id); code != 503 {
		t.Errorf("while it is away: %d %s", code, b)
	}
	again := start(t, "cache", "--dir", dir, "--listen", cache.public)
	if again.public != cache.public {
		t.Fatalf("it listens on %s, want %s", again.public, cache.public)
	}
	eventually(t, "the picture is back", func() bool {
		code, b := get(t, "http://"+api.public+"/cache/"+id)
		return code == 200 && string(b) == "GIF89a, or so"
	})
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--help", 0, "all in one process"},
		{"api --nonsense", 2, "unknown flag"},
		{"api --listen nonsense", 2, "host:port"},
		{"api --admin 0.0.0.0:0 --listen 127.0.0.1:0", 2, "loopback"},
		{"api --admin 127.0.0.1:0 --listen 127.0.0.1:0 --cache-errors 2", 2, "0 to 1"},
		{"api --admin 127.0.0.1:0 --listen 127.0.0.1:0 --queue 0", 2, "--queue must be above 0"},
		{"api --admin 127.0.0.1:0 --listen 127.0.0.1:0 --facebox nonsense", 2, "nonsense"},
		{"cache --admin 127.0.0.1:0 --listen 127.0.0.1:0 --ttl 0s", 2, "--ttl must be above 0"},
		{"cache --admin 127.0.0.1:0 --listen 127.0.0.1:0 --drain=-1s", 2, "--drain"},
		{"facebox --admin 127.0.0.1:0 --listen 127.0.0.1:0 --facebox-workers=-1", 2, "--facebox-workers"},
	} {
		var out, errs bytes.Buffer
		status := Run(t.Context(), strings.Fields(c.args), streams{&out, &errs})
		if all := out.String() + errs.String(); status != c.status || !strings.Contains(all, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", c.args, status, all, c.status, c.says)
		}
	}
}

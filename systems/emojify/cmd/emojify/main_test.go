package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
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

// program is a running emojify.
type program struct {
	*process.Served
	printed bytes.Buffer // on standard output; to be read when it has ended
}

// start runs a verb on free ports until the test ends.
func start(t testing.TB, verb string, args ...string) *program {
	t.Helper()
	p := &program{}
	o := child.Options{Env: []string{asCommand + "=1"}, Begin: func(cmd *exec.Cmd) error {
		cmd.Stdout = io.MultiWriter(cmd.Stdout, &p.printed)
		return cmd.Start()
	}}
	p.Served = process.Serve(t, o, append([]string{os.Args[0], verb, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	return p
}

func get(t testing.TB, url string) (int, []byte) {
	t.Helper()
	res, body := process.Ask(t, http.MethodGet, url, "")
	return res.StatusCode, []byte(body)
}

// store puts a picture into a cache, as the API would, and gives its id.
func store(t testing.TB, address string, picture []byte) string {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	fatal.If(t, err)
	defer conn.Close()
	sum := sha256.Sum256(picture)
	id := hex.EncodeToString(sum[:])
	stream, err := rpc.NewCacheServiceClient(conn).Put(t.Context())
	fatal.If(t, err)
	fatal.If(t, stream.Send(&rpc.PutRequest{Key: id, Data: picture}))
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	return id
}

// two starts the API before a cache, each a process; face detection is not
// needed for what is in the cache.
func two(t testing.TB, args ...string) (api, cache *program) {
	t.Helper()
	cache = start(t, "cache", "--dir", t.TempDir())
	return start(t, "api", append([]string{"--cache", cache.Public, "--facebox", "http://127.0.0.1:1"}, args...)...), cache
}

func TestDebugPrintIsOffUnlessAsked(t *testing.T) {
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0, 1, 200, 'x'}, 50_000)...)
	for _, c := range []struct {
		args   []string
		prints bool
	}{{nil, false}, {[]string{"--debug-print"}, true}} {
		api, cache := two(t, c.args...)
		id := store(t, cache.Public, picture)
		if code, got := get(t, "http://"+api.Public+"/cache/"+id); code != 200 || !bytes.Equal(got, picture) {
			t.Errorf("%v: %d, %d bytes", c.args, code, len(got))
		}
		api.End(t)
		_, printed, _ := strings.Cut(api.printed.String(), "\n") // where it listens
		if c.prints && (!strings.HasPrefix(printed, "err size:200008") || len(printed) < len(picture)) || !c.prints && printed != "" {
			t.Errorf("%v: printed %d bytes, %.80q", c.args, len(printed), printed)
		}
	}
}

func TestAdminPort(t *testing.T) {
	api, cache := two(t)
	id := store(t, cache.Public, []byte("GIF89a, or so"))
	for range 3 {
		get(t, "http://"+api.Public+"/cache/"+id)
		get(t, "http://"+api.Public+"/emojify/"+id)
	}
	for _, c := range []struct{ url, says string }{
		{api.Admin + "/livez", "ok"},
		{api.Admin + "/readyz", "ok"},
		{api.Admin + "/metrics", `http_requests_total{code="200",method="GET",route="/cache/{id}"} 3`},
		{api.Admin + "/metrics", `emojify_upstream_attempts_total{code="ok",upstream="cache"} 6`},
		{api.Admin + "/debug/pprof/goroutine?debug=1", "goroutine profile"},
		{cache.Admin + "/readyz", "ok"},
		{cache.Admin + "/metrics", `cache_calls_total{code="OK",endpoint="/emojify.cache.v1.CacheService/Get"} 3`},
		{cache.Admin + "/metrics", `cache_calls_total{code="OK",endpoint="/emojify.cache.v1.CacheService/Put"} 1`},
		{cache.Admin + "/metrics", `cache_calls_total{code="OK",endpoint="/emojify.cache.v1.CacheService/Exists"} 3`},
		{cache.Admin + "/metrics", "cache_hits_total 3"},
	} {
		if code, b := get(t, "http://"+c.url); code != 200 || !strings.Contains(string(b), c.says) {
			t.Errorf("%s: %d, without %s", c.url, code, c.says)
		}
	}
	// Health names what is away.
	code, b := get(t, "http://"+api.Public+"/health")
	if code != 503 || !strings.Contains(string(b), `"cache":"ok"`) || strings.Contains(string(b), `"faceDetection":"ok"`) {
		t.Errorf("%d %s", code, b)
	}
	if code, _ := get(t, "http://"+api.Public+"/debug/pprof/"); code == 200 {
		t.Error("profiles are public")
	}
}

func TestCacheOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	cache := start(t, "cache", "--dir", dir)
	id := store(t, cache.Public, []byte("GIF89a, or so"))
	api := start(t, "api", "--cache", cache.Public, "--facebox", "http://127.0.0.1:1")
	cache.Kill()
	if code, b := get(t, "http://"+api.Public+"/cache/"+id); code != 503 {
		t.Errorf("while it is away: %d %s", code, b)
	}
	again := start(t, "cache", "--dir", dir, "--listen", cache.Public)
	if again.Public != cache.Public {
		t.Fatalf("it listens on %s, want %s", again.Public, cache.Public)
	}
	process.Until(t, "the picture is back", func() bool {
		code, b := get(t, "http://"+api.Public+"/cache/"+id)
		return code == 200 && string(b) == "GIF89a, or so"
	})
}

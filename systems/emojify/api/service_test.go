package api

import (
	"context"
	"encoding/json"
	"image"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/emojify/cache"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// parts is a pipeline of which a test sees every step.
type parts struct {
	mu      sync.Mutex // guards the following
	fetched []string
	finds   int
	fail    error // what Find gives; nil: one face

	gate chan struct{} // Fetch waits for it; nil: it does not
}

var face = image.Rect(1, 2, 3, 4)

// painted is a PNG for all that net/http knows, with what it was made of.
func painted(picture []byte) []byte { return append([]byte("\x89PNG\x0D\x0A\x1A\x0A of "), picture...) }

func (p *parts) Fetch(ctx context.Context, url string) ([]byte, error) {
	p.mu.Lock()
	p.fetched = append(p.fetched, url)
	p.mu.Unlock()
	if p.gate != nil {
		select {
		case <-p.gate:
		case <-ctx.Done():
			return nil, whittle.Errorf(whittle.CodeOf(ctx.Err()), "fetch: %w", ctx.Err())
		}
	}
	switch {
	case strings.Contains(url, "forbidden"):
		return nil, whittle.Errorf(whittle.PermissionDenied, "the address is private")
	case strings.Contains(url, "panic"):
		panic("a decoder's mistake")
	}
	return []byte(url), nil
}

func (p *parts) Find(context.Context, []byte) ([]image.Rectangle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finds++
	return []image.Rectangle{face}, p.fail
}

func (p *parts) Ready(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fail
}

func (p *parts) Paint(_ context.Context, picture []byte, faces []image.Rectangle) ([]byte, error) {
	if len(faces) != 1 || faces[0] != face {
		return nil, whittle.Errorf(whittle.Internal, "faces = %v", faces)
	}
	return painted(picture), nil
}

func (p *parts) failWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

func (p *parts) found() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finds
}

// testService is an API on a real port, before a cache service on another.
type testService struct {
	t     testing.TB
	api   *API
	url   string
	parts *parts
}

func newTestService(t testing.TB, set ...func(*Options)) *testService {
	t.Helper()
	store, err := cache.Open(t.TempDir(), cache.Options{})
	fatal.If(t, err)
	s := cache.NewServer(store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return serviceBefore(t, l, set...)
}

// serviceBefore is an API before the cache that listens there.
func serviceBefore(t testing.TB, l net.Listener, set ...func(*Options)) *testService {
	t.Helper()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fatal.If(t, err)
	t.Cleanup(func() { conn.Close() })
	h := &testService{t: t, parts: &parts{}}
	o := Options{
		Cache: conn, Fetcher: h.parts, Finder: h.parts, Painter: h.parts,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Workers: 2,
	}
	for _, f := range set {
		f(&o)
	}
	h.api, err = New(o)
	fatal.If(t, err)
	s := httptest.NewServer(h.api)
	h.url = s.URL
	t.Cleanup(func() {
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		h.api.Close(ctx)
	})
	return h
}

type response struct {
	code   int
	header http.Header
	body   []byte
}

func (h *testService) do(method, path, contentType string, body []byte) response {
	h.t.Helper()
	res, text := process.Ask(h.t, method, h.url+path, string(body), "Content-Type: "+contentType)
	return response{res.StatusCode, res.Header, []byte(text)}
}

// submit sends a URL.
func (h *testService) submit(url string) (response, progress) {
	h.t.Helper()
	a := h.do(http.MethodPost, "/emojify/", "text/plain", []byte(url))
	return a, h.progress(a)
}

func (h *testService) progress(a response) (p progress) {
	h.t.Helper()
	if err := json.Unmarshal(a.body, &p); err != nil {
		h.t.Fatalf("%d %s: %v", a.code, a.body, err)
	}
	return p
}

func (h *testService) status(id string) (response, progress) {
	h.t.Helper()
	a := h.do(http.MethodGet, "/emojify/"+id, "", nil)
	return a, h.progress(a)
}

// becomes waits for a status.
func (h *testService) becomes(id string, want jobStatus) progress {
	h.t.Helper()
	var p progress
	process.Until(h.t, "status "+string(want), func() bool {
		_, p = h.status(id)
		return p.Status == want
	})
	return p
}

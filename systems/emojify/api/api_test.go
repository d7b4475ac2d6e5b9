package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/emojify/rpc"
)

const faces = "https://example.com/faces.png"

func TestFromURLToPicture(t *testing.T) {
	h := newTestService(t)
	a, p := h.submit(" " + faces + "\n")
	if a.code != http.StatusAccepted || p.ID != idOf([]byte(faces)) || p.Status != queued && p.Status != processing || a.header.Get("Location") != "/emojify/"+p.ID {
		t.Fatalf("submitted: %d %+v %v", a.code, p, a.header)
	}
	h.becomes(p.ID, finished)
	got := h.do(http.MethodGet, "/cache/"+p.ID, "", nil)
	want := painted([]byte(faces))
	if got.code != 200 || !bytes.Equal(got.body, want) {
		t.Fatalf("picture: %d %q, want %q", got.code, got.body, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Length": fmt.Sprint(len(want)),
	} {
		fatal.Same(t, got.header.Get(name), want, "%s", name)
	}
	if a, p := h.submit(faces); a.code != 200 || p.Status != finished || len(h.parts.fetched) != 1 {
		t.Errorf("sent again: %d %+v, fetched %v", a.code, p, h.parts.fetched)
	}
	// A client that has the picture is not sent it twice.
	res, body := process.Ask(t, http.MethodGet, h.url+"/cache/"+p.ID, "", "If-Modified-Since: "+got.header.Get("Last-Modified"))
	if res.StatusCode != http.StatusNotModified || len(body) != 0 {
		t.Errorf("%d with %d bytes, want 304 with none", res.StatusCode, len(body))
	}
	if head := h.do(http.MethodHead, "/cache/"+p.ID, "", nil); head.code != 200 || head.header.Get("Content-Length") != got.header.Get("Content-Length") {
		t.Errorf("HEAD: %d %v", head.code, head.header)
	}
}

func TestPicturesMayBeSent(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.MaxUpload = 1 << 20 })
	raw := append([]byte("\x89PNG\x0D\x0A\x1A\x0A"), bytes.Repeat([]byte("pixels"), 1000)...)
	a := h.do(http.MethodPost, "/emojify/", "image/png", raw)
	p := h.progress(a)
	if a.code >= 300 || p.ID != idOf(raw) {
		t.Fatalf("%d %s", a.code, a.body)
	}
	h.becomes(p.ID, finished)
	if got := h.do(http.MethodGet, "/cache/"+p.ID, "", nil); !bytes.Equal(got.body, painted(raw)) {
		t.Errorf("%d, %d bytes", got.code, len(got.body))
	}
	fatal.Same(t, len(h.parts.fetched), 0, "fetched %v", h.parts.fetched)
	if !h.api.uploads.TryAcquire(h.api.o.MaxUploads) {
		t.Error("room that uploads took was not given back")
	}
}

func TestRefusals(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.MaxUpload = 1000 })
	for name, c := range map[string]struct {
		method, path, contentType, body string
		code                            int
		says                            string
	}{
		"empty":           {"POST", "/emojify/", "", "", 400, "empty"},
		"no URL":          {"POST", "/emojify/", "", "faces.png", 400, "not a URL"},
		"not http":        {"POST", "/emojify/", "", "file:///etc/passwd", 400, "not a URL"},
		"ftp":             {"POST", "/emojify/", "", "ftp://example.com/a", 400, "must begin with http"},
		"opaque":          {"POST", "/emojify/", "", "http:example.com", 400, "not a URL"},
		"password":        {"POST", "/emojify/", "", "http://a:b@example.com/", 400, "password"},
		"long":            {"POST", "/emojify/", "", "http://example.com/" + strings.Repeat("a", 2048), 413, "too large"},
		"JSON":            {"POST", "/emojify/", "application/json", "{}", 415, "must be a URL"},
		"no picture":      {"POST", "/emojify/", "image/png", "<html>", 400, "not a picture"},
		"large picture":   {"POST", "/emojify/", "image/png", "\x89PNG\x0D\x0A\x1A\x0A" + strings.Repeat("a", 1000), 413, "too large"},
		"giant picture":   {"POST", "/emojify/", "image/png", strings.Repeat("a", 100_000), 413, "too large"},
		"a form":          {"POST", "/emojify/", "multipart/form-data; boundary=x", "--x--", 415, "must be a URL"},
		"unknown id":      {"GET", "/emojify/" + strings.Repeat("0", 64), "", "", 404, "no such picture"},
		"no id":           {"GET", "/emojify/abc", "", "", 404, "64 lower-case"},
		"unknown picture": {"GET", "/cache/" + strings.Repeat("0", 64), "", "", 404, "no such picture"},
		"a path":          {"GET", "/cache/..%2f..%2fetc%2fpasswd", "", "", 404, "64 lower-case"},
	} {
		a := h.do(c.method, c.path, c.contentType, []byte(c.body))
		if a.code != c.code || !strings.Contains(string(a.body), c.says) || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %d with %q", name, a.code, a.body, c.code, c.says)
		}
	}
	fatal.Same(t, len(h.parts.fetched), 0, "fetched %v", h.parts.fetched)
}

func TestQueueHasAnEndAndPositions(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.Workers, o.Queue = 1, 2 })
	h.parts.gate = make(chan struct{})
	url := func(n int) string { return fmt.Sprintf("%s?%d", faces, n) }
	_, p0 := h.submit(url(0))
	h.becomes(p0.ID, processing)
	_, p1 := h.submit(url(1))
	_, p2 := h.submit(url(2))
	if p1.Status != queued || p1.Position != 1 || p2.Position != 2 || p2.Length != 2 {
		t.Errorf("waiting: %+v and %+v", p1, p2)
	}
	if a, again := h.submit(url(2)); a.code != http.StatusAccepted || again.Position != 2 || again.Length != 2 {
		t.Errorf("sent again while it waits: %d %+v", a.code, again)
	}
	full, _ := h.submit(url(3))
	if full.code != http.StatusServiceUnavailable || full.header.Get("Retry-After") == "" || !strings.Contains(string(full.body), "wait already") {
		t.Errorf("full: %d %v %s", full.code, full.header, full.body)
	}
	h.parts.gate <- struct{}{}
	if p := h.becomes(p1.ID, processing); p.Position != 0 || p.Length != 1 {
		t.Errorf("the next: %+v", p)
	}
	if _, p := h.status(p2.ID); p.Position != 1 || p.Length != 1 {
		t.Errorf("the one after: %+v", p)
	}
	close(h.parts.gate)
	for _, id := range []string{p0.ID, p1.ID, p2.ID} {
		h.becomes(id, finished)
	}
}

func TestFailuresAreReportedAndMayBeTriedAgain(t *testing.T) {
	h := newTestService(t)
	for url, says := range map[string]string{
		"http://forbidden.example/": "the address is private",
		"http://panic.example/":     "internal error",
	} {
		_, p := h.submit(url)
		if got := h.becomes(p.ID, failed); got.Error != says {
			t.Errorf("%s: %+v, want %q", url, got, says)
		}
	}
	h.parts.failWith(whittle.Errorf(whittle.Invalid, "no picture"))
	_, p := h.submit(faces)
	if got := h.becomes(p.ID, failed); got.Error != "no picture" || h.parts.found() != 1 {
		t.Errorf("%+v after %d calls, want one: it was the picture's fault", got, h.parts.found())
	}
	h.parts.failWith(whittle.Errorf(whittle.Unavailable, "face detection: %w", net.ErrClosed))
	h.submit(faces)
	if got := h.becomes(p.ID, failed); got.Error != "the faces could not be looked for" {
		t.Errorf("%+v", got)
	}
	if a := h.do(http.MethodGet, "/health", "", nil); a.code != 503 || !strings.Contains(string(a.body), `"cache":"ok"`) || strings.Contains(string(a.body), `"faceDetection":"ok"`) {
		t.Errorf("health: %d %s", a.code, a.body)
	}
	if a := h.do(http.MethodGet, "/cache/"+someID, "", nil); a.code != 404 {
		t.Errorf("pictures do not need it: %d", a.code)
	}
	h.parts.failWith(nil)
	h.submit(faces)
	h.becomes(p.ID, finished)
}

func TestClosingFinishesWhatWaits(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.Workers = 1 })
	h.parts.gate = make(chan struct{})
	var ids []string
	for n := range 3 {
		_, p := h.submit(fmt.Sprintf("%s?%d", faces, n))
		ids = append(ids, p.ID)
	}
	h.becomes(ids[0], processing)
	closed := make(chan struct{})
	go func() { h.api.Close(t.Context()); close(closed) }()
	late := 0 // one that was taken before is not refused when it is sent again
	process.Until(t, "nothing more is taken", func() bool {
		late++
		a, _ := h.submit(fmt.Sprintf("%s?late%d", faces, late))
		return a.code == http.StatusServiceUnavailable && strings.Contains(string(a.body), "closing down")
	})
	close(h.parts.gate)
	<-closed
	for _, id := range ids {
		if _, p := h.status(id); p.Status != finished {
			t.Errorf("after closing: %+v", p)
		}
	}
}

func TestClosingGivesUpInTime(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.Workers = 1 })
	h.parts.gate = make(chan struct{}) // never opens
	_, p := h.submit(faces)
	h.becomes(p.ID, processing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.api.Close(ctx)
	if _, p := h.status(p.ID); p.Status != failed || !strings.Contains(p.Error, "closed down") {
		t.Errorf("after closing: %+v", p)
	}
}

// oddCache is a cache that does as a test says.
type oddCache struct {
	rpc.UnimplementedCacheServiceServer
	healthpb.UnimplementedHealthServer
	get    func(grpc.ServerStreamingServer[rpc.GetResponse]) error
	exists func(context.Context) error
}

func (c *oddCache) Get(_ *rpc.GetRequest, out grpc.ServerStreamingServer[rpc.GetResponse]) error {
	return c.get(out)
}

func (c *oddCache) Exists(ctx context.Context, _ *rpc.ExistsRequest) (*rpc.ExistsResponse, error) {
	return &rpc.ExistsResponse{}, c.exists(ctx)
}

func (c *oddCache) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, c.exists(ctx)
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// before returns an API before an odd cache.
func before(t *testing.T, c *oddCache, set ...func(*Options)) *testService {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	s := grpc.NewServer(grpc.WaitForHandlers(true))
	rpc.RegisterCacheServiceServer(s, c)
	healthpb.RegisterHealthServer(s, c)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-ended })
	return serviceBefore(t, l, set...)
}

var someID = strings.Repeat("0", 64)

func TestHungCacheIsAnResponse(t *testing.T) {
	h := before(t, &oddCache{
		get:    func(out grpc.ServerStreamingServer[rpc.GetResponse]) error { return hang(out.Context()) },
		exists: hang,
	}, func(o *Options) { o.CacheTimeout = 20 * time.Millisecond })
	for _, a := range []response{
		h.do(http.MethodGet, "/cache/"+someID, "", nil),
		h.do(http.MethodGet, "/emojify/"+someID, "", nil),
		h.do(http.MethodPost, "/emojify/", "", []byte(faces)),
	} {
		if a.code != 504 || !strings.Contains(string(a.body), "cache") {
			t.Errorf("%d %v %s", a.code, a.header, a.body)
		}
	}
	a := h.do(http.MethodGet, "/health", "", nil)
	if a.code != 503 || !strings.Contains(string(a.body), `"status":"degraded"`) || !strings.Contains(string(a.body), `"faceDetection":"ok"`) {
		t.Errorf("health: %d %s", a.code, a.body)
	}
}

// TestBrokenPictureIsBrokenOff has a cache end, or hang, in the middle.
func TestBrokenPictureIsBrokenOff(t *testing.T) {
	for name, then := range map[string]func(context.Context) error{
		"fails": func(context.Context) error { return status.Error(codes.Unavailable, "gone") },
		"hangs": hang,
		"ends":  func(context.Context) error { return nil },
	} {
		h := before(t, &oddCache{get: func(out grpc.ServerStreamingServer[rpc.GetResponse]) error {
			if err := out.Send(&rpc.GetResponse{Size: 200_000, Data: make([]byte, 100_000)}); err != nil {
				return err
			}
			return then(out.Context())
		}}, func(o *Options) { o.CacheTimeout = 50 * time.Millisecond })
		res, err := http.Get(h.url + "/cache/" + someID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil || len(b) > 100_000 {
			t.Errorf("%s: %d bytes and %v, want an error after 100,000", name, len(b), err)
		}
	}
}

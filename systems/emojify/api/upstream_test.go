package api

import (
	"context"
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
	"whittle/internal/fatal"
	"whittle/systems/emojify/rpc"
)

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
	h := newEmptyService(t)
	h.open(h.dial(l.Addr().String()), set...)
	return h
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

func TestFailingFaceDetectionIsAnResponse(t *testing.T) {
	h := newTestService(t)
	h.parts.failWith(whittle.Errorf(whittle.Unavailable, "face detection: %w", net.ErrClosed))
	_, p := h.submit(faces)
	if got := h.becomes(p.ID, failed); got.Error != "the faces could not be looked for" {
		t.Errorf("%+v", got)
	}
	if a := h.do(http.MethodGet, "/health", "", nil); a.code != 503 || !strings.Contains(string(a.body), `"cache":"ok"`) || strings.Contains(string(a.body), `"faceDetection":"ok"`) {
		t.Errorf("health: %d %s", a.code, a.body)
	}
	if a := h.do(http.MethodGet, "/cache/"+someID, "", nil); a.code != 404 {
		t.Errorf("pictures do not need it: %d", a.code)
	}
}

package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twitchtv/twirp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/count/rpc"
)

// fake counts to 50·times and fails on cue.
type fake struct{}

func (fake) Count(ctx context.Context, times int32) (int64, error) {
	switch times {
	case -1:
		return 0, whittle.Errorf(whittle.Invalid, "times is -1")
	case -2:
		return 0, whittle.Errorf(whittle.ResourceExhausted, "busy").WithHint("wait")
	case -3:
		return 0, io.ErrUnexpectedEOF
	case -4:
		<-ctx.Done()
		return 0, whittle.Errorf(whittle.DeadlineExceeded, "count ended early: %w", ctx.Err())
	}
	return 50 * int64(times), nil
}

type edges struct {
	url     string
	http2   *http.Client
	metrics *metrics
	ready   bool
}

func newEdges(t *testing.T) *edges {
	t.Helper()
	e := &edges{ready: true, metrics: newMetrics(prometheus.NewRegistry())}
	h := newPublic(fake{}, 50*time.Millisecond, e.metrics, func() bool { return e.ready })
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	e.url = s.URL
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	e.http2 = &http.Client{Transport: transport}
	return e
}

// clients are all the ways to call the service; each gives the sum or the name
// of the code.
func (e *edges) clients(t *testing.T) map[string]func(times int32) (int64, string) {
	t.Helper()
	twirped := func(c rpc.Carved) func(int32) (int64, string) {
		return func(times int32) (int64, string) {
			out, err := c.Count(t.Context(), &rpc.Times{Times: times})
			if refused, ok := errors.AsType[twirp.Error](err); ok {
				return 0, string(refused.Code())
			}
			return out.GetSum(), ""
		}
	}
	connected := func(o ...connect.ClientOption) func(int32) (int64, string) {
		c := rpc.NewCarvedClient(e.http2, e.url, o...)
		return func(times int32) (int64, string) {
			out, err := c.Count(t.Context(), &rpc.Times{Times: times})
			if err != nil {
				return 0, connect.CodeOf(err).String()
			}
			return out.GetSum(), ""
		}
	}
	conn := e.dial(t)
	return map[string]func(int32) (int64, string){
		"twirp protobuf":   twirped(rpc.NewCarvedProtobufClient(e.url, http.DefaultClient)),
		"twirp json":       twirped(rpc.NewCarvedJSONClient(e.url, http.DefaultClient)),
		"twirp over h2c":   twirped(rpc.NewCarvedProtobufClient(e.url, e.http2)),
		"connect protobuf": connected(),
		"connect json":     connected(connect.WithProtoJSON()),
		"grpc-web":         connected(connect.WithGRPCWeb()),
		"grpc by connect":  connected(connect.WithGRPC()),
		"grpc": func(times int32) (int64, string) {
			var out rpc.Sum
			err := conn.Invoke(t.Context(), rpc.CarvedCountProcedure, &rpc.Times{Times: times}, &out)
			return out.GetSum(), grpcName(err)
		},
	}
}

func (e *edges) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(e.url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fatal.If(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func grpcName(err error) string {
	return map[codes.Code]string{
		codes.OK:                "",
		codes.InvalidArgument:   "invalid_argument",
		codes.ResourceExhausted: "resource_exhausted",
		codes.Internal:          "internal",
		codes.DeadlineExceeded:  "deadline_exceeded",
	}[status.Code(err)]
}

func TestEveryProtocolSaysTheSame(t *testing.T) {
	e := newEdges(t)
	for name, call := range e.clients(t) {
		for _, c := range []struct {
			times int32
			sum   int64
			code  string
		}{
			{0, 0, ""},
			{7, 350, ""},
			{1<<31 - 1, 107374182350, ""},
			{-1, 0, "invalid_argument"},
			{-2, 0, "resource_exhausted"},
			{-3, 0, "internal"},
			{-4, 0, "deadline_exceeded"},
		} {
			if sum, code := call(c.times); sum != c.sum || code != c.code {
				t.Errorf("%s: times %d gave %d %q, want %d %q", name, c.times, sum, code, c.sum, c.code)
			}
		}
	}
	for protocol, want := range map[string]float64{"twirp": 9, "connect": 6, "grpc": 6, "grpcweb": 3} {
		fatal.Same(t, testutil.ToFloat64(e.metrics.calls.WithLabelValues(protocol, "ok")), want, "%s: calls counted as ok", protocol)
	}
}

const (
	twirpPath   = rpc.CarvedPathPrefix + "Count"
	connectPath = rpc.CarvedCountProcedure
)

func (e *edges) post(t *testing.T, path, contentType, body string) (int, http.Header, string) {
	t.Helper()
	res, text := process.Ask(t, http.MethodPost, e.url+path, body, "Content-Type: "+contentType)
	return res.StatusCode, res.Header, text
}

func TestJSONIsWhatClientsOfTodayRead(t *testing.T) {
	e := newEdges(t)
	for _, path := range []string{twirpPath, connectPath} {
		for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
			if path == connectPath && contentType == "Application/JSON" {
				continue // Connect's content types are exact
			}
			for body, want := range map[string]string{
				`{"times":10000000}`:       `{"Sum":500000000}`,
				`{"times":0}`:              `{"Sum":0}`,
				`{}`:                       `{"Sum":0}`,
				`{"times":2147483647}`:     `{"Sum":107374182350}`,
				`{"times":"12"}`:           `{"Sum":600}`,
				`{"times":2,"unknown":[]}`: `{"Sum":100}`,
			} {
				code, header, got := e.post(t, path, contentType, body)
				if code != 200 || got != want || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
					t.Errorf("%s %s %s: %d %s %q, want %q", path, contentType, body, code, header.Get("Content-Type"), got, want)
				}
			}
		}
	}
}

func TestAbsurdBodiesAreRefused(t *testing.T) {
	e := newEdges(t)
	giant := `{"x":"` + strings.Repeat("x", maxBody) + `"}`
	for _, path := range []string{twirpPath, connectPath} {
		for _, c := range []struct {
			name, contentType, body string
			status                  int
			says                    string
		}{
			{"no body", "application/json", "", 400, `"invalid_argument"`},
			{"not JSON", "application/json", "times=3", 400, `"invalid_argument"`},
			{"a list", "application/json", "[1]", 400, `"invalid_argument"`},
			{"a word", "application/json", `{"times":"many"}`, 400, `"invalid_argument"`},
			{"a fraction", "application/json", `{"times":1.5}`, 400, `"invalid_argument"`},
			{"above int32", "application/json", `{"times":2147483648}`, 400, `"invalid_argument"`},
			{"below int32", "application/json", `{"times":-2147483649}`, 400, `"invalid_argument"`},
			{"broken off", "application/json", `{"times":`, 400, `"invalid_argument"`},
			{"deep", "application/json", strings.Repeat(`{"x":`, 12000), 400, `"invalid_argument"`},
			{"broken protobuf", "application/proto", "\x08\xff", 400, `"invalid_argument"`},
			{"a giant", "application/json", giant, 429, `"resource_exhausted"`},
			{"a giant in protobuf", "application/proto", giant, 429, `"resource_exhausted"`},
		} {
			contentType := c.contentType
			if path == twirpPath && contentType == "application/proto" {
				contentType = typeProto
			}
			code, _, got := e.post(t, path, contentType, c.body)
			if code != c.status || !strings.Contains(got, c.says) {
				t.Errorf("%s: %s: %d %q, want %d with %s", path, c.name, code, clip(got), c.status, c.says)
			}
			if len(got) > 1000 {
				t.Errorf("%s: %s: the refusal has %d bytes", path, c.name, len(got))
			}
		}
	}
	conn := e.dial(t)
	err := conn.Invoke(t.Context(), rpc.CarvedCountProcedure, &healthpb.HealthCheckRequest{Service: giant}, &rpc.Sum{})
	fatal.Same(t, status.Code(err), codes.ResourceExhausted, "grpc: a giant: %v", err)
	err = conn.Invoke(t.Context(), rpc.CarvedCountProcedure, &healthpb.HealthCheckRequest{Service: "\u07ff"}, &rpc.Sum{})
	if err != nil {
		t.Errorf("grpc: an unknown field: %v, want it passed over", err)
	}
}

func TestCausesStayInside(t *testing.T) {
	e := newEdges(t)
	for _, path := range []string{twirpPath, connectPath} {
		if code, _, got := e.post(t, path, "application/json", `{"times":-3}`); code != 500 || strings.Contains(got, "EOF") {
			t.Errorf("%s: %d %q, want 500 without the cause", path, code, got)
		}
		if _, _, got := e.post(t, path, "application/json", `{"times":-2}`); !strings.Contains(got, "busy; wait") {
			t.Errorf("%s: %q, want the hint", path, got)
		}
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	e := newEdges(t)
	for _, c := range []struct{ path, contentType, body string }{
		{"/", "application/json", "{}"},
		{"/debug/pprof/", "application/json", "{}"},
		{"/metrics", "application/json", "{}"},
		{rpc.CarvedPathPrefix + "Other", "application/json", "{}"},
		{twirpPath, "text/plain", "{}"},
		{twirpPath, "", "{}"},
	} {
		if code, _, got := e.post(t, c.path, c.contentType, c.body); code != http.StatusNotFound {
			t.Errorf("POST %s as %q: %d %q, want 404", c.path, c.contentType, code, got)
		}
	}
	if res, _ := process.Ask(t, http.MethodGet, e.url+twirpPath, ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("GET: %d, want 404", res.StatusCode)
	}
}

func TestGRPCHealth(t *testing.T) {
	e := newEdges(t)
	c := healthpb.NewHealthClient(e.dial(t))
	for _, name := range []string{"", "twirp.carved.Carved"} {
		for _, ready := range []bool{true, false} {
			e.ready = ready
			want := healthpb.HealthCheckResponse_NOT_SERVING
			if ready {
				want = healthpb.HealthCheckResponse_SERVING
			}
			out, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
			if err != nil || out.GetStatus() != want {
				t.Errorf("%q: %v, %v, want %v", name, out.GetStatus(), err, want)
			}
		}
	}
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("another service: %v, want not_found", err)
	}
}

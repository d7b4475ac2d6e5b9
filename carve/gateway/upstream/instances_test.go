package upstream

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// named is a server whose responses are its name, or a status that is not 200.
type named struct {
	*httptest.Server
	name string
	// status is that of its responses, health that of /healthz.
	status, health atomic.Int64
	asked          atomic.Int64
}

func serve(t *testing.T, name string) *named { return serveBy(t, name, (*httptest.Server).Start) }

func serveBy(t *testing.T, name string, start func(*httptest.Server)) *named {
	t.Helper()
	s := &named{name: name}
	s.status.Store(http.StatusOK)
	s.health.Store(http.StatusOK)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			w.WriteHeader(int(s.health.Load()))
			return
		}
		s.asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(s.status.Load()))
		_, _ = io.WriteString(w, name)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

func upstreamOf(t *testing.T, spec whittle.Upstream) *Upstream {
	t.Helper()
	u, err := New(spec, false, nil)
	fatal.If(t, err)
	t.Cleanup(u.Close)
	return u
}

func get() *whittle.Request {
	return &whittle.Request{Method: http.MethodGet, Target: "/", Host: "h", Header: whittle.Header{}}
}

// asks sends a GET for a user.
func asks(ctx context.Context, u *Upstream) whittle.Response { return u.Call(ctx, get(), 0, nil) }

// responders counts by whom to n requests.
func responders(t *testing.T, u *Upstream, n int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		a := asks(t.Context(), u)
		if a.Failure != whittle.NoFailure {
			t.Fatalf("%s: %s", a.Failure, a.Detail)
		}
		got[string(a.Body)]++
	}
	return got
}

// TestFailuresInARowEject: an instance that fails so often in a row gets no users'
// requests for a time, and what is done aside is sent to it all the same. Of three at
// most one may be ejected here, and never all.
func TestFailuresInARowEject(t *testing.T) {
	a, b, c := serve(t, "a"), serve(t, "b"), serve(t, "c")
	u := upstreamOf(t, whittle.Upstream{
		URL: a.URL, Others: []string{b.URL, c.URL},
		Ejection: whittle.Ejection{Consecutive: 3, Base: time.Hour, Most: time.Hour, Share: whittle.Percent(50)},
	})
	a.status.Store(http.StatusInternalServerError)
	for u.Status().Ejections == 0 {
		responders(t, u, 1)
	}
	before := a.asked.Load()
	fatal.Same(t, before, 3, "failures before it was ejected")
	if got := responders(t, u, 50); got["a"] > 0 {
		t.Errorf("an ejected instance had %d users' requests", got["a"])
	}
	for a.asked.Load() == before { // it is drawn as often as the others
		if r, spared := u.Aside(t.Context(), get(), 0, 0, nil); !spared || r.Failure != whittle.NoFailure {
			t.Fatal(r)
		}
	}
	b.status.Store(http.StatusBadGateway)
	c.status.Store(http.StatusBadGateway)
	responders(t, u, 50)
	if s := u.Status(); s.Ejections != 1 || s.Panic {
		t.Errorf("%d ejected, panic %v", s.Ejections, s.Panic)
	}
}

// TestChecks: an instance whose checks fail gets no requests until they succeed
// again; where too few are healthy, all get some.
func TestChecks(t *testing.T) {
	for _, path := range []string{"/healthz", ""} {
		t.Run(path, func(t *testing.T) {
			a, b := serve(t, "a"), serve(t, "b")
			var log bytes.Buffer
			u, err := New(whittle.Upstream{
				URL: a.URL, Others: []string{b.URL}, Panic: whittle.Percent(50),
				Health: whittle.Health{Path: path, Interval: 2 * time.Millisecond, Timeout: 10 * time.Second, Healthy: 2, Unhealthy: 3, Least: 200, Most: 299},
			}, false, slog.New(slog.NewTextHandler(&log, nil)))
			fatal.If(t, err)
			t.Cleanup(u.Close)
			healthy := func(want ...bool) func() bool {
				return func() bool {
					for i, in := range u.Status().Instances {
						if in.Unhealthy == want[i] {
							return false
						}
					}
					return true
				}
			}
			if path == "" {
				a.Close()
				process.Until(t, "the one that is closed is unhealthy", healthy(false, true))
				if got := responders(t, u, 20); got["b"] != 20 || u.Status().Elsewhere > 0 {
					t.Errorf("%v", got)
				}
				return
			}
			a.health.Store(http.StatusServiceUnavailable)
			process.Until(t, "the first is unhealthy", healthy(false, true))
			fatal.Same(t, responders(t, u, 20)["b"], 20, "responses of b")
			b.health.Store(http.StatusNotFound)
			process.Until(t, "both are", healthy(false, false))
			if got := responders(t, u, 100); got["a"] == 0 || got["b"] == 0 || !u.Status().Panic {
				t.Errorf("with none that is healthy: %v", got)
			}
			a.health.Store(http.StatusNoContent)
			process.Until(t, "the first is healthy again", healthy(true, false))
			if got := responders(t, u, 20); got["a"] != 20 || u.Status().Panic {
				t.Errorf("%v", got)
			}
			u.Close() // waits for the checks
			begins, ends := strings.Count(log.String(), "all of them get requests"), strings.Count(log.String(), "they alone get requests")
			if begins != 1 || ends != 1 {
				t.Errorf("the log has %d lines of the panic's beginning and %d of its end:\n%s", begins, ends, &log)
			}
		})
	}
}

// TestAsideHasTheTimeOfTheUsersResponse: a mirrored response that comes in pieces may take as
// long as the user's own did, beyond the timeout.
func TestAsideHasTheTimeOfTheUsersResponse(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	u := upstreamOf(t, whittle.Upstream{URL: srv.URL, Timeout: 200 * time.Millisecond})
	long := make(chan whittle.Response)
	go func() {
		a, _ := u.Aside(t.Context(), get(), time.Minute, 0, nil)
		long <- a
	}()
	if a, _ := u.Aside(t.Context(), get(), 0, 0, nil); a.Failure != whittle.FailedTimeout {
		t.Errorf("without it: %+v", a)
	}
	close(release)
	if a := <-long; a.Failure != whittle.NoFailure || a.Status != http.StatusOK {
		t.Errorf("with it: %+v", a)
	}
}

// TestChecksByGRPC: an instance is healthy as long as a real gRPC server says SERVING of
// the service, or of itself.
func TestChecksByGRPC(t *testing.T) {
	const service = "shop.v1.Cart"
	serve := func(with bool) (string, *grpchealth.Server) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fatal.If(t, err)
		s, h := grpc.NewServer(), grpchealth.NewServer()
		if with {
			healthpb.RegisterHealthServer(s, h)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Serve(l) // until Stop
		}()
		t.Cleanup(func() {
			s.Stop()
			<-ended
		})
		return l.Addr().String(), h
	}
	for _, asked := range []string{service, ""} {
		address, says := serve(true)
		without, _ := serve(false)
		u, err := New(whittle.Upstream{
			URL: "http://" + address, Others: []string{"http://" + without},
			Health: whittle.Health{GRPC: true, Service: asked, Interval: 2 * time.Millisecond, Timeout: 10 * time.Second, Healthy: 1, Unhealthy: 1},
		}, true, nil)
		fatal.If(t, err)
		t.Cleanup(u.Close)
		is := func(address string, healthy bool) func() bool {
			return func() bool {
				for _, i := range u.Status().Instances {
					if i.Address == address {
						return i.Unhealthy != healthy
					}
				}
				return false
			}
		}
		process.Until(t, "a server without such a service is unhealthy", is(without, false))
		if asked != "" {
			process.Until(t, "a service that is not known is unhealthy", is(address, false))
		}
		for _, status := range []healthpb.HealthCheckResponse_ServingStatus{
			healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
			healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_UNKNOWN,
		} {
			says.SetServingStatus(asked, status)
			process.Until(t, status.String(), is(address, status == healthpb.HealthCheckResponse_SERVING))
		}
	}
}

// TestTheLessBusyOfTwoIsChosen: with two instances that is always the less busy one.
func TestTheLessBusyOfTwoIsChosen(t *testing.T) {
	u := upstreamOf(t, whittle.Upstream{URL: "http://127.0.0.1:1", Others: []string{"http://127.0.0.1:2"}}) // of which none is dialled
	all := u.group.Load().all
	chosen := func() *instance {
		i, err := u.choose(t.Context(), &attempts{}, false)
		fatal.If(t, err)
		return i
	}
	all[1].running.Add(3)
	for range 3 {
		if chosen() != all[0] {
			t.Fatal("the busier one was chosen")
		}
		all[0].running.Add(1)
	}
	drawn := map[*instance]int{}
	for range 200 { // a draw of 200 alike has a chance of 2^-199
		drawn[chosen()]++
	}
	fatal.Same(t, len(drawn), 2, "of two that are equally busy only one is ever chosen")
}

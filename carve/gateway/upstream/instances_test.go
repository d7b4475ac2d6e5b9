package upstream

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"whittle"
	"whittle/carve/gateway/resolve/dnstest"
)

// named is a server whose responses are its name, or a status that is not 200.
type named struct {
	*httptest.Server
	name string
	// status is that of its responses, health that of /healthz.
	status, health atomic.Int64
	// conns counts the connections it was opened, open those that are.
	conns, open, asked atomic.Int64
}

func serve(t *testing.T, name string, how ...func(*httptest.Server)) *named {
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
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.conns.Add(1)
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.startAs(how)
	t.Cleanup(s.Close)
	return s
}

func (s *named) startAs(how []func(*httptest.Server)) {
	if len(how) == 0 {
		s.Start()
		return
	}
	for _, f := range how {
		f(s.Server)
	}
}

func (s *named) port(t *testing.T) uint16 {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

func upstreamOf(t *testing.T, spec whittle.Upstream) *Upstream {
	t.Helper()
	u, err := New(spec, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

// asks sends a GET for a user.
func asks(ctx context.Context, u *Upstream) whittle.Response {
	return u.Call(ctx, &whittle.Request{Method: http.MethodGet, Target: "/", Host: "h", Header: whittle.Header{}}, 0, nil)
}

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

// until waits for something to come about.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !come(); {
		if time.Now().After(end) {
			t.Fatal("never came about: " + what)
		}
		time.Sleep(time.Millisecond) // a condition is polled
	}
}

// TestNamesAreFollowed: an upstream has the instances that DNS has, as long as that
// says so. Those that have gone keep no connection; a lookup that fails or finds none
// changes nothing.
func TestNamesAreFollowed(t *testing.T) {
	t.Parallel() // it waits for times to live
	dns := dnstest.New(t)
	a, b := serve(t, "a"), serve(t, "b")
	at := func(s *named) dnstest.Service { return dnstest.Service{Port: s.port(t), Target: "host.example"} }
	dns.Set("host.example", 3600, "127.0.0.1")
	dns.SetServices("_app._tcp.example", 0, at(a))
	u := upstreamOf(t, whittle.Upstream{URL: "srv+http://_app._tcp.example", Resolver: dns.Address})
	if got := responders(t, u, 3); got["a"] != 3 {
		t.Errorf("%v", got)
	}
	dns.SetServices("_app._tcp.example", 0, at(a), at(b))
	until(t, "two instances", func() bool { return len(u.Status().Instances) == 2 })
	if got := responders(t, u, 100); got["a"] == 0 || got["b"] == 0 {
		t.Errorf("%v", got)
	}
	dns.SetServices("_app._tcp.example", 0, at(b))
	until(t, "the first is no more", func() bool { return len(u.Status().Instances) == 1 })
	if got := responders(t, u, 3); got["b"] != 3 {
		t.Errorf("%v", got)
	}
	until(t, "its connections are closed", func() bool { return a.open.Load() == 0 })
	for _, broken := range []func(){
		func() { dns.SetServices("_app._tcp.example", 0) },
		func() { dns.Remove("_app._tcp.example") },
		func() { dns.Fail(dnsmessage.RCodeServerFailure) },
	} {
		failed := u.Status().LookupsFailed
		broken()
		until(t, "a lookup that fails", func() bool { return u.Status().LookupsFailed > failed })
		if got := responders(t, u, 3); got["b"] != 3 {
			t.Errorf("%v", got)
		}
	}
}

// TestANameThatCannotBeFound: requests fail as those to a server that cannot be
// reached, and are served as soon as it is there.
func TestANameThatCannotBeFound(t *testing.T) {
	t.Parallel() // it waits for times to live
	dns := dnstest.New(t)
	u := upstreamOf(t, whittle.Upstream{URL: "http://app.example:1", Resolver: dns.Address})
	if a := asks(t.Context(), u); a.Failure != whittle.FailedConnect || !strings.Contains(a.Detail, "app.example") {
		t.Errorf("%s: %s", a.Failure, a.Detail)
	}
	s := serve(t, "late")
	dns.SetServices("_late._tcp.example", 0)
	late := upstreamOf(t, whittle.Upstream{URL: "srv+http://_late._tcp.example", Resolver: dns.Address})
	if a := asks(t.Context(), late); a.Failure != whittle.FailedConnect {
		t.Errorf("%s: %s", a.Failure, a.Detail)
	}
	dns.Set("host.example", 3600, "127.0.0.1")
	dns.SetServices("_late._tcp.example", 0, dnstest.Service{Port: s.port(t), Target: "host.example"})
	until(t, "it is found", func() bool { return asks(t.Context(), late).Failure == whittle.NoFailure })
	dns.Fail(dnsmessage.RCodeServerFailure)
	again, err := New(whittle.Upstream{URL: "srv+http://_late._tcp.example", Resolver: dns.Address, MaxConns: 7}, false, nil, late)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	for again.Status().LookupsFailed == 0 {
		if a := asks(t.Context(), again); a.Failure != whittle.NoFailure {
			t.Errorf("after a reload, with DNS failing: %s", a.Detail)
		}
	}
	silent := dnstest.New(t)
	silent.Silence(true)
	mute := upstreamOf(t, whittle.Upstream{URL: "http://app.example", Resolver: silent.Address})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := asks(ctx, mute); a.Failure != whittle.FailedCanceled {
		t.Errorf("who waits for a silent server's lookup and goes: %s", a.Failure)
	}
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
	if before != 3 {
		t.Errorf("ejected after %d failures", before)
	}
	if got := responders(t, u, 50); got["a"] > 0 {
		t.Errorf("an ejected instance had %d users' requests", got["a"])
	}
	q := &whittle.Request{Method: http.MethodGet, Target: "/", Host: "h", Header: whittle.Header{}}
	for a.asked.Load() == before { // it is drawn as often as the others
		if r, spared := u.Aside(t.Context(), q, 0, nil); !spared || r.Failure != whittle.NoFailure {
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

// TestEjectionsEnd: an instance gets requests again, and is ejected for longer when it
// fails again.
func TestEjectionsEnd(t *testing.T) {
	a, b := serve(t, "a"), serve(t, "b")
	u := upstreamOf(t, whittle.Upstream{
		URL: a.URL, Others: []string{b.URL},
		Ejection: whittle.Ejection{Consecutive: 1, Base: time.Millisecond, Most: time.Minute, Share: whittle.Percent(50)},
	})
	a.status.Store(http.StatusInternalServerError)
	for n := int64(1); n <= 3; n++ {
		for u.Status().Ejections < n {
			responders(t, u, 1)
		}
		until(t, "it is admitted", func() bool { return !u.Status().Instances[0].Ejected })
	}
	u.mu.Lock()
	times := u.group.Load().all[0].ejection.times
	u.mu.Unlock()
	if times != 3 {
		t.Errorf("the third ejection in a row is as long as %d", times)
	}
}

// TestRefusalsEject: connections that cannot be opened count as failures, and no
// request fails for it.
func TestRefusalsEject(t *testing.T) {
	a, b := serve(t, "a"), serve(t, "b")
	a.Close()
	u := upstreamOf(t, whittle.Upstream{
		URL: a.URL, Others: []string{b.URL},
		Ejection: whittle.Ejection{Consecutive: 5, Base: time.Hour, Most: time.Hour, Share: whittle.Percent(50)},
	})
	if got := responders(t, u, 100); got["b"] != 100 {
		t.Errorf("%v", got)
	}
	if s := u.Status(); s.Elsewhere != 5 || !s.Instances[0].Ejected {
		t.Errorf("%+v", s)
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
			if err != nil {
				t.Fatal(err)
			}
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
				until(t, "the one that is closed is unhealthy", healthy(false, true))
				if got := responders(t, u, 20); got["b"] != 20 || u.Status().Elsewhere > 0 {
					t.Errorf("%v", got)
				}
				return
			}
			a.health.Store(http.StatusServiceUnavailable)
			until(t, "the first is unhealthy", healthy(false, true))
			if got := responders(t, u, 20); got["b"] != 20 {
				t.Errorf("%v", got)
			}
			b.health.Store(http.StatusNotFound)
			until(t, "both are", healthy(false, false))
			if got := responders(t, u, 100); got["a"] == 0 || got["b"] == 0 || !u.Status().Panic {
				t.Errorf("with none that is healthy: %v", got)
			}
			a.health.Store(http.StatusNoContent)
			until(t, "the first is healthy again", healthy(true, false))
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

// TestConnectionsAge: none carries more requests than it may, nor any when it is too
// old, by whichever way requests are sent.
func TestConnectionsAge(t *testing.T) {
	for _, scheme := range []string{"http", "h2c"} {
		t.Run(scheme, func(t *testing.T) {
			a := serve(t, "a")
			url := scheme + "://" + a.Listener.Addr().String()
			u := upstreamOf(t, whittle.Upstream{URL: url, MaxRequests: 3})
			responders(t, u, 9)
			// Three after another, each with a second one that net/http may have opened.
			if n := a.conns.Load(); n < 3 || n > 6 || n > 3 && scheme == "http" {
				t.Errorf("nine requests went over %d connections", n)
			}
			b := serve(t, "b")
			u = upstreamOf(t, whittle.Upstream{URL: scheme + "://" + b.Listener.Addr().String(), MaxAge: time.Hour})
			responders(t, u, 4)
			young := b.conns.Load() // net/http may have opened a second one
			if young != 1 && scheme == "http" {
				t.Errorf("young connections: %d", young)
			}
			i := u.group.Load().all[0]
			i.ways.Load().made = time.Now().Add(-2 * time.Hour)
			if i.pool != nil {
				i.pool.idle[0].born = time.Now().Add(-2 * time.Hour)
			}
			n := 1
			if scheme == "h2c" {
				n = 2 // the first of them may be the old one's last
			}
			responders(t, u, n)
			if n := b.conns.Load(); n <= young {
				t.Errorf("with an old one: %d", n)
			}
			until(t, "the old ones are closed", func() bool { return b.open.Load() == b.conns.Load()-young })
		})
	}
}

// TestUnixSockets: an upstream may be a socket in the file system.
func TestUnixSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "whittle") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "app.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "by a socket", func(s *httptest.Server) {
		_ = s.Listener.Close()
		s.Listener = l
		s.Start()
	})
	for _, http2 := range []bool{false, true} {
		u, err := New(whittle.Upstream{URL: "unix://" + path}, http2, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(u.Close)
		if got := responders(t, u, 3); got[s.name] != 3 {
			t.Errorf("%v", got)
		}
	}
	gone := upstreamOf(t, whittle.Upstream{URL: "unix://" + path + ".gone"})
	if a := asks(t.Context(), gone); a.Failure != whittle.FailedConnect {
		t.Error(a.Failure)
	}
}

// TestURLsThatAreNone are refused with what to write.
func TestURLsThatAreNone(t *testing.T) {
	for _, raw := range []string{
		"", "http://", "ftp://h", "http://u@h", "http://h?q", "http://h#f", "unix://app.sock", "unix:app.sock", "unix://h/app.sock",
		"srv+http://_web._tcp.example:80", "srv+unix:///a", "srv+ftp://h", "://", "http://[::1",
		"http://h:", "https://h:/a", "http://[::1]:", "http://h:0", "http://h:65536", "http://h:99999999999",
	} {
		if u, err := New(whittle.Upstream{URL: raw}, false, nil); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", raw, err)
			u.Close()
		}
	}
}

// TestAConnectionThatEndsWithoutAResponse is not called a response that was cut.
func TestAConnectionThatEndsWithoutAResponse(t *testing.T) {
	for _, begins := range []string{"", "HTTP/1.1 200 OK\r\nContent-Le"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, begins)
			_ = c.Close()
		}))
		t.Cleanup(s.Close)
		a := asks(t.Context(), upstreamOf(t, whittle.Upstream{URL: s.URL}))
		if a.Failure != whittle.FailedReset || !strings.Contains(a.Detail, errNoHead.Error()) {
			t.Errorf("%q: %s: %s", begins, a.Failure, a.Detail)
		}
	}
}

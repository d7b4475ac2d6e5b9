package instances

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle/carve/gateway/resolve/dnstest"
	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

const (
	readers, writers = 6, 4
	// some responses show that there is load.
	some = 100
)

// TestInstancesKilledInTurn kills two instances in turn, as no instance should end,
// and starts them again, with the config read again in the middle. No user who reads
// sees an error. A write fails only if it was under way while an instance ended, whose
// sockets take in data until the system has closed them; none is done twice, and each that was answered was done.
func TestInstancesKilledInTurn(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	both := []*process.Process{start(t, "a", "127.0.0.1:0", done), start(t, "b", "127.0.0.1:0", done)}
	names := []string{"a", "b"}
	config := fmt.Sprintf("monolith:\n  url: [http://%s, http://%s]\n  eject: {consecutive: 3, time: 50ms}\n  health: {interval: 20ms, timeout: 10s, unhealthy: 1, healthy: 1}\n",
		both[0].Public, both[1].Public)
	g := run(t, config)
	l := begin("http://"+g.Public, readers, writers)
	more := func(name string) { l.more(t, name, some) }
	const kills = 4
	var ends [kills]span // from the signal until its sockets were closed
	for i := range kills {
		at, other := i%2, (i+1)%2
		more(names[at])
		if i == kills/2 {
			g.write(t, config+"routes:\n  - {match: GET /other, timeout: 1s}\n")
			g.Signal(t, syscall.SIGHUP)
		}
		ends[i].from = time.Now()
		both[at].Kill()
		ends[i].to = time.Now()
		more(names[other])
		both[at] = start(t, names[at], both[at].Public, done)
	}
	more(names[0])
	more(names[1])
	l.end(t)
	for id, at := range l.failed {
		if !slices.ContainsFunc(ends[:], at.overlaps) {
			t.Errorf("write %s failed, and was not under way while an instance ended", id)
		}
	}
	const class = `whittle_requests_total{class="5xx",route=""}`
	fatal.Same(t, process.Metrics(g.Admin)[class], float64(len(l.failed)), "the writes that the gateway counts as failed")
	said := process.MustRun(t, "", 0, gateway, "status", "--admin", "http://"+g.Admin)
	fatal.Has(t, said, "  ready     "+both[0].Public, "  ready     "+both[1].Public)
	times := map[string]int{}
	for _, id := range strings.Fields(fatal.Read(t, done)) {
		times[id]++
	}
	for id, n := range times {
		if n > 1 {
			t.Errorf("write %s was done %d times", id, n)
		}
		if _, failed := l.failed[id]; !l.written[id] && !failed {
			t.Errorf("write %s was done, and nobody was told", id)
		}
	}
	for id := range l.written {
		if times[id] == 0 {
			t.Errorf("write %s was answered and not done", id)
		}
	}
	t.Logf("%d requests, %d writes done, %d failed", l.n, len(l.written), len(l.failed))
}

// TestDNSMovesUnderLoad moves an upstream from one instance to the next by its
// name, with the config read again and DNS failing in between. Nobody sees an error,
// and an instance that is no longer in DNS gets no requests.
func TestDNSMovesUnderLoad(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	dns := dnstest.New(t)
	const name = "app.example"
	old := start(t, "0", "127.0.0.1:0", done)
	dns.Set(name, 0, "127.0.0.1")
	_, port, _ := strings.Cut(old.Public, ":")
	url := "http://" + name + ":" + port
	config := fmt.Sprintf("monolith: {url: %q, resolver: %q}\n", url, dns.Address)
	g := run(t, config)
	l := begin("http://"+g.Public, readers, writers)
	more := func(name string) { l.more(t, name, some) }
	more("0")
	ready := func(n int) {
		t.Helper()
		line := fmt.Sprintf(`whittle_upstream_instances{state="ready",upstream=%q}`, url)
		process.Until(t, fmt.Sprintf("%d instances", n), func() bool { return process.Metrics(g.Admin)[line] == float64(n) })
	}
	for i := 1; i <= 2; i++ {
		next := fmt.Sprint(i)
		was, is := fmt.Sprintf("127.0.0.%d", i), fmt.Sprintf("127.0.0.%d", i+1)
		p := start(t, next, is+":"+port, done)
		dns.Set(name, 0, was, is)
		ready(2)
		more(next)
		dns.Set(name, 0, is)
		ready(1)
		// What was chosen before may still be under way: a round of all users ends it.
		l.more(t, "", 10*(readers+writers))
		before := l.count(fmt.Sprint(i - 1))
		more(next)
		fatal.Same(t, l.count(fmt.Sprint(i-1)), before, "requests to an instance that is not in DNS any more")
		old.Kill()
		if i == 1 {
			dns.Remove(name)
			g.write(t, strings.Replace(config, "resolver:", "timeout: 50s, resolver:", 1)) // an upstream that has found nothing yet
			g.Signal(t, syscall.SIGHUP)
			more(next)
		}
		old = p
	}
	l.end(t)
	if len(l.failed) > 0 {
		t.Errorf("%d writes failed", len(l.failed))
	}
}

// TestNginxAsUpstream speaks to a real server in each way that the config has: by a
// socket, with the PROXY protocol, by TLS with a certificate for a name that is asked
// for and one that is shown, and by HTTP/2.
func TestNginxAsUpstream(t *testing.T) {
	nginx := needs.Tool(t, "nginx as an upstream", "apt-get install nginx", "nginx")
	dir, err := os.MkdirTemp("", "whittle") // t.TempDir's names are too long for a socket
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ca := certtest.New(t)
	app, gateway := ca.For(t, "app.internal"), ca.For(t, "gateway")
	ca.Write(t, dir, "ca.pem", "ca.key")
	app.Write(t, dir, "app.internal.pem", "app.internal.key")
	gateway.Write(t, dir, "gateway.pem", "gateway.key")
	at, err := child.Addresses(2)
	fatal.If(t, err)
	tls := fmt.Sprintf("ssl_certificate %s/app.internal.pem; ssl_certificate_key %[1]s/app.internal.key; ssl_client_certificate %[1]s/ca.pem; ssl_protocols TLSv1.3;", dir)
	const said = `return 200 "$request_method $server_protocol host=$host sni=$ssl_server_name $ssl_protocol client=$ssl_client_s_dn\n";`
	conf := fmt.Sprintf(`
daemon off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen unix:%[1]s/app.sock; location / { %[2]s } }
  server { listen %[4]s ssl; %[3]s ssl_verify_client on; location / { %[2]s } }
  server { listen %[5]s ssl http2; %[3]s location / { %[2]s } }
}`, dir, said, tls, at[0], at[1])
	server, err := child.Spawn(child.Options{}, nginx, "-p", dir, "-c", fatal.Write(t, filepath.Join(dir, "nginx.conf"), conf))
	fatal.If(t, err)
	t.Cleanup(func() {
		server.Stop()
		if t.Failed() {
			t.Log(server.Tail())
		}
	})
	process.Until(t, "nginx listens", func() bool {
		c, err := net.Dial("unix", filepath.Join(dir, "app.sock"))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	secure := fmt.Sprintf("tls: {ca: %[1]s/ca.pem, cert: %[1]s/gateway.pem, key: %[1]s/gateway.key, server_name: app.internal}", dir)
	for _, tt := range []struct{ name, upstream, want string }{
		{"a socket", fmt.Sprintf(`url: "unix://%s/app.sock"`, dir), "HTTP/1.1 host=user.example sni= client="},
		{"both certificates", fmt.Sprintf("url: https://%s, %s, host: app.internal", at[0], secure), "HTTP/1.1 host=app.internal sni=app.internal TLSv1.3 client=CN=gateway"},
		{"HTTP/2", fmt.Sprintf("url: https://%s, %s", at[1], secure), "HTTP/2.0 host=user.example sni=app.internal TLSv1.3 client="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := run(t, "monolith: {"+tt.upstream+"}\n")
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			for n, length := range []int{0, 0, 100, 20_000, 0} {
				method := []string{http.MethodGet, http.MethodPost}[min(length, 1)]
				q, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.Public+"/", strings.NewReader(strings.Repeat("x", length)))
				fatal.If(t, err)
				q.Host = "user.example"
				resp, err := tr.RoundTrip(q)
				fatal.If(t, err)
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				want := method + " " + tt.want
				if got := strings.Join(strings.Fields(string(text)), " "); err != nil || got != want {
					t.Errorf("request %d: %d %q, not %q", n, resp.StatusCode, got, want)
				}
			}
		})
	}
}

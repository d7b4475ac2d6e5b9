package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"text/template"
	"time"

	"whittle/bench/server"
	"whittle/carve/admin"
	"whittle/e2e/soak/plan"
)

// gateway is a whittle under test: one process at a time, at one address.
type gateway struct {
	name        string
	binary, dir string
	addr, admin string
	tls         bool
	monolith    *upstream
	lenient     *upstream // candidates
	strict      *upstream
	client      *admin.Client
	said        *heard

	pid atomic.Int64 // of the process that serves

	mu      sync.Mutex // held by whoever restarts or reloads
	setting setting    // guarded by mu
	old     []int      // the processes that were replaced; guarded by mu
}

// setting is what reloads and upgrades change.
type setting struct {
	Build   int
	Timeout int // of the monolith, seconds
	Extra   bool
	Broken  bool // a config that is refused
}

// The monolith's timeout, in seconds: longer than its stalls, and its silences are
// over before a process that is asked to end is killed.
const leastTimeout, timeouts = 5, 4

// another makes a setting that can be told from the last one.
func (s *setting) another() { s.Timeout = leastTimeout + (s.Timeout-leastTimeout+1)%timeouts }

// held is how long a response of a candidate may be that is held until it is whole, in
// KiB: a longer one breaks with its candidate.
const held = 256

var configText = template.Must(template.New("whittle.yaml").Parse(`listen: {{.Listen}}
admin: {{.Admin}}
{{- if .TLS}}
tls: {cert: cert.pem, key: key.pem}
{{- end}}
monolith: {url: "http://{{.Monolith}}", timeout: {{.Timeout}}s}
state: {{.Name}}.db
log: {level: info, access: {{.TLS}}}
limits: {grace: 20s}
{{- if .Broken}}
no_such_field: 1
{{- end}}
routes:
{{- range .Routes}}
  - match: {{.Match}}
    safe: {{.Safe}}
    candidate: {url: "http://{{.Candidate}}", timeout: 2s, build: "{{$.Build}}"}
    compare: {kind: exact, expect: [{kind: failure, reason: the candidate fails by plan}]}
    mirror: {shed_above: off, max_body: "{{$.Held}}"}
    rollout: {auto: false, steps: [50, 100], hold: 10ms, min_requests: 1, sticky_by: header:X-User, unseen: shift}
    guard: {{.Guard}}
{{- end}}
{{- if .Extra}}
  - match: /extra/{rest...}
    candidate: "http://{{.Monolith}}"
{{- end}}
`))

// The guards of routes whose candidate is to keep its users, whatever it does, and of
// one that is to lose them.
const (
	lenientGuard = "{errors: 90%, p99: off, mismatch: 50%, consecutive: 1000, exposure: 10000}"
	strictGuard  = "{p99: off}"
)

type routeText struct {
	Match, Candidate, Guard string
	Safe                    bool
}

// match is a route's pattern in the config, which is also its name.
func (g *gateway) match(route string) string {
	if route == "once" {
		return "POST /once/{number}"
	}
	return "/" + route + "/{number}"
}

// routes are those that have a candidate.
func (g *gateway) routes() []string {
	return append(plan.Routes[1:len(plan.Routes):len(plan.Routes)], plan.Writes[1:]...)
}

// write puts the config in place, whole or not at all.
func (g *gateway) write() error {
	var routes []routeText
	for _, route := range g.routes() {
		r := routeText{Match: g.match(route), Safe: route != "once", Candidate: g.lenient.addr, Guard: lenientGuard}
		if route == "strict" {
			r.Candidate, r.Guard = g.strict.addr, strictGuard
		}
		routes = append(routes, r)
	}
	var b bytes.Buffer
	err := configText.Execute(&b, struct {
		setting
		Name, Listen, Admin, Monolith string
		Held                          string
		TLS                           bool
		Routes                        []routeText
	}{g.setting, g.name, g.addr, g.admin, g.monolith.addr, fmt.Sprintf("%dKiB", held), g.tls, routes})
	if err != nil {
		return err
	}
	next := g.path() + ".next"
	if err = os.WriteFile(next, b.Bytes(), 0o600); err == nil {
		err = os.Rename(next, g.path())
	}
	return err
}

func (g *gateway) path() string { return filepath.Join(g.dir, g.name+".yaml") }

// start starts it for the first time.
func (g *gateway) start(ctx context.Context) (err error) {
	if g.addr, err = server.FreeAddr(ctx); err != nil {
		return err
	}
	if g.admin, err = server.FreeAddr(ctx); err != nil {
		return err
	}
	g.setting = setting{Timeout: leastTimeout}
	if err = g.write(); err != nil {
		return err
	}
	if g.said, err = hear(g.path() + ".log"); err != nil {
		return err
	}
	if err = g.launch(ctx); err != nil {
		return err
	}
	g.client, err = admin.Dial(g.admin, "")
	return err
}

// launch starts a process and waits until it listens. What it says goes to a file, since
// a pipe would end with it, and the process that takes over has the same.
func (g *gateway) launch(ctx context.Context) error {
	_, before, _ := g.said.counts()
	cmd := exec.Command(g.binary, "run", "-c", g.path()) //nolint:gosec,noctx // what is under test; stop ends it
	cmd.Stdout, cmd.Stderr = g.said.file, g.said.file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	g.pid.Store(int64(cmd.Process.Pid))
	return g.await(ctx, "it to listen", func() (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("%s ended: %w", g.name, cmp.Or(err, errLate))
		default:
		}
		_, now, _ := g.said.counts()
		return now > before, nil
	})
}

func (g *gateway) signal(s syscall.Signal) error { return syscall.Kill(int(g.pid.Load()), s) }

// stop asks the process to end, and waits.
func (g *gateway) stop(ctx context.Context) error {
	if err := g.signal(syscall.SIGTERM); err != nil {
		return err
	}
	return g.await(ctx, "it to end", func() (bool, error) { return !there(int(g.pid.Load())), nil })
}

// there reports whether a process is.
func there(pid int) bool { return syscall.Kill(pid, 0) == nil }

// replace has another process take over.
func (g *gateway) replace(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _, before := g.said.counts()
	g.old = append(g.old, int(g.pid.Load()))
	if err := g.signal(syscall.SIGUSR2); err != nil {
		return err
	}
	return g.await(ctx, "another process to take over", func() (bool, error) {
		_, _, now := g.said.counts()
		if len(now) == len(before) {
			return false, nil
		}
		g.pid.Store(int64(now[len(now)-1]))
		return true, nil
	})
}

// end ends all of its processes.
func (g *gateway) end(ctx context.Context) {
	if g.client != nil {
		g.client.Close()
	}
	if pid := int(g.pid.Load()); pid > 0 && g.stop(ctx) != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	for _, pid := range g.old {
		if there(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // as above
		}
	}
	if g.said != nil {
		g.said.close()
	}
}

// reload changes the config and waits until it is in force.
func (g *gateway) reload(ctx context.Context, signal bool, change func(*setting)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.setting)
	if err := g.put(signal); err != nil {
		return err
	}
	return g.await(ctx, "a config to be in force", func() (bool, error) {
		raw, err := g.client.Config(ctx)
		return err == nil && bytes.Contains(raw, fmt.Appendf(nil, ", timeout: %ds,", g.setting.Timeout)), nil
	})
}

// refused loads a config that is wrong, and then the right one again.
func (g *gateway) refused(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setting.Broken = true
	before, _, _ := g.said.counts()
	err := g.put(true)
	if err == nil {
		err = g.await(ctx, "a broken config to be refused", func() (bool, error) {
			now, _, _ := g.said.counts()
			return now > before, nil
		})
	}
	g.setting.Broken = false
	if err == nil {
		err = g.put(true)
	}
	return err
}

// put writes the config, and says so by a signal or leaves it to be seen.
func (g *gateway) put(signal bool) error {
	err := g.write()
	if err == nil && signal {
		err = g.signal(syscall.SIGHUP)
	}
	return err
}

var errLate = errors.New("it did not come about")

// await polls for something that is to come about.
func (g *gateway) await(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		ok, err := done()
		if ok || err != nil {
			tick.Stop()
			return err
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			last, _ := g.said.text()
			return fmt.Errorf("wait on %s for %s: %w\n%s", g.name, what, errLate, last[max(0, len(last)-2000):])
		case <-tick.C:
		}
	}
}

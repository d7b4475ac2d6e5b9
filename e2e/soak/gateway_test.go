package soak

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/template"

	"whittle"
	"whittle/carve/admin"
	"whittle/e2e/process"
	"whittle/e2e/soak/plan"
	"whittle/internal/fatal"
)

// gateway is a whittle under test: one process at a time, at one address.
type gateway struct {
	*process.Replaceable
	t           *testing.T
	name, dir   string
	certificate string // the folder of its files; empty: it speaks no TLS
	monolith    *upstream
	lenient     *upstream // candidates
	strict      *upstream
	client      *admin.Client

	mu      sync.Mutex // held by whoever restarts or reloads
	setting setting    // guarded by mu
}

// setting is what reloads and upgrades change.
type setting struct {
	Build   int
	Timeout int // of the monolith, seconds
	Extra   bool
	Broken  bool // a config that is refused
}

// The monolith's timeout, in seconds: longer than its stalls, and its silences are
// over before a process that is asked to end is killed. Each reload has another one, so that
// it can be told from the last one.
const leastTimeout, timeouts = 5, 4

// held is how long a response of a candidate may be that is held until it is whole, in
// KiB: a longer one breaks with its candidate.
const held = 256

var configText = template.Must(template.New("whittle.yaml").Parse(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
{{- if .Certificate}}
tls: {cert: {{.Certificate}}/cert.pem, key: {{.Certificate}}/key.pem}
access: {file: /dev/null}
{{- end}}
monolith: {url: "http://{{.Monolith}}", timeout: {{.Timeout}}s}
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
    mirror: {shed_above: off, max_body: "{{$.Held}}KiB"}
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

// match is a route's pattern in the config, which is also its name.
func (g *gateway) match(route string) string {
	if route == "once" {
		return "POST /once/{number}"
	}
	return "/" + route + "/{number}"
}

// routes are those that have a candidate.
func (g *gateway) routes() []string { return slices.Concat(plan.Routes[1:], plan.Writes[1:]) }

// write puts the config in place, whole or not at all.
func (g *gateway) write() {
	type route struct {
		Match, Candidate, Guard string
		Safe                    bool
	}
	var routes []route
	for _, name := range g.routes() {
		one := route{g.match(name), g.lenient.addr, lenientGuard, name != "once"}
		if name == "strict" {
			one.Candidate, one.Guard = g.strict.addr, strictGuard
		}
		routes = append(routes, one)
	}
	var b bytes.Buffer
	fatal.If(g.t, configText.Execute(&b, struct {
		setting
		Certificate, Monolith string
		Held                  int
		Routes                []route
	}{g.setting, g.certificate, g.monolith.addr, held, routes}))
	fatal.If(g.t, os.Rename(fatal.Write(g.t, g.path()+".next", b.Bytes()), g.path()))
}

func (g *gateway) path() string { return filepath.Join(g.dir, "whittle.yaml") }

func (g *gateway) start() {
	g.setting = setting{Timeout: leastTimeout}
	g.write()
	g.Replaceable = process.StartReplaceable(g.t, g.dir, nil, binary, "run", "-c", g.path())
	var err error
	g.client, err = admin.Dial(g.Admin, "")
	fatal.If(g.t, err)
	g.t.Cleanup(g.client.Close)
}

// replace has another process take over.
func (g *gateway) replace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Replace()
}

// reload changes the config and waits until it is in force.
func (g *gateway) reload(signal bool, change func(*setting)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.setting)
	g.setting.Timeout = leastTimeout + (g.setting.Timeout-leastTimeout+1)%timeouts
	g.put(signal)
	process.Until(g.t, "a config in force", func() bool {
		raw, err := g.client.Config(g.t.Context())
		return err == nil && bytes.Contains(raw, fmt.Appendf(nil, ", timeout: %ds,", g.setting.Timeout))
	})
}

// refuse loads a config that is wrong, and then the right one again.
func (g *gateway) refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused := func() int { return strings.Count(g.Said(), "config refused") }
	before := refused()
	g.setting.Broken = true
	g.put(true)
	process.Until(g.t, "a broken config refused", func() bool { return refused() > before })
	g.setting.Broken = false
	g.put(true)
}

// put writes the config, and says so by a signal or leaves it to be seen.
func (g *gateway) put(signal bool) {
	g.write()
	if all := g.Pids(); signal {
		fatal.If(g.t, syscall.Kill(all[len(all)-1], syscall.SIGHUP))
	}
}

// still gives what a look shows when it has shown the same for so many looks.
func still[T comparable](t *testing.T, what string, looks int, look func() (T, bool)) (last T) {
	same := 0
	process.Until(t, what, func() bool {
		now, ok := look()
		if same++; !ok || now != last {
			same = 0
		}
		last = now
		return same >= looks
	})
	return last
}

// ledgerAtRest is a route's ledger when nothing is pending and it does not move any more: for
// longer than a save takes.
func (g *gateway) ledgerAtRest(route string) (last whittle.Ledger) {
	still(g.t, "the ledger of "+route+" at rest", 60, func() (int64, bool) {
		s, err := g.client.Route(g.t.Context(), g.match(route))
		fatal.If(g.t, err)
		last = s.Ledger
		return last.Total, last.Pending == 0
	})
	return last
}

// sample is what a gateway's process holds at a moment.
type sample struct{ goroutines, files float64 }

// sample asks a process what it holds; false: it is not there.
func (g *gateway) sample() (s sample, ok bool) {
	all := process.Metrics(g.Admin)
	s = sample{all["go_goroutines"], all["process_open_fds"]}
	return s, s.goroutines > 0 && s.files > 0
}

// settled is what it holds when that has not changed for some time.
func (g *gateway) settled() (last sample) {
	still(g.t, "its goroutines settled", 10, func() (float64, bool) {
		var ok bool
		last, ok = g.sample()
		return last.goroutines, ok
	})
	return last
}

// rest drops the connections that are kept to upstreams, by a reload, and waits until the
// process holds no more than in the beginning, and those before it have ended.
func (g *gateway) rest(before sample) {
	g.reload(true, func(s *setting) { s.Build, s.Extra = s.Build+1, false })
	g.client.Close() // what it keeps is not the gateway's
	process.Await(g.t, g.name+" at rest", func() (bool, string) {
		now, ok := g.sample()
		all := g.Pids()
		there := slices.ContainsFunc(all[:len(all)-1], func(pid int) bool { return syscall.Kill(pid, 0) == nil })
		return ok && !there && now.goroutines <= before.goroutines && now.files <= before.files, fmt.Sprintf("%+v, before %+v, earlier processes: %v", now, before, there)
	})
}

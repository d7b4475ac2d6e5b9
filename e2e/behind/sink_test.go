package behind

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	core "whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// mirrors are proxies that serve all users from the monolith and copy requests to whittle.
var mirrors = []front{
	fronts[0].copying("nginx-mirror", [2]string{"/tmp/nginx-nobody.sock", "%d/nobody.sock"}, [2]string{"location /items/ {", "location ~ ^/(items|odd)/ {"}),
	fronts[2].copying("envoy-mirror", [2]string{"{prefix: /items/}", `{safe_regex: {regex: "/(items|odd)/.*"}}`}),
}

const (
	sinkRoute  = "  - match: GET /items/{id}\n    candidate: http://127.0.0.1:3001\n"
	testedSink = "  - match: %s\n    candidate: http://%s\n    compare: {min_compared: 50, headers: {except: [X-Side, X-Way]}}\n" +
		"    mirror: {shed_above: off} # a busy machine would shed nearly all\n"
)

// beginAtProxy starts whittle by the example's own config next to a proxy. In place of the example's
// route are such as tested says, of a candidate that is right, and of others.
func beginAtProxy(t *testing.T, f front, example, tested string, others ...string) *world {
	t.Helper()
	w, at := newWorld(t)
	routes := ""
	for _, match := range append([]string{byCookie}, others...) {
		routes += fmt.Sprintf(tested, match, w.candidate.address)
	}
	w.runs(t, w.example(t, f.folder, "whittle.yaml", [2]string{example, routes},
		[2]string{"127.0.0.1:8090", at[0]}, [2]string{"admin: 127.0.0.1:8081", "admin: " + at[1]},
		[2]string{"http://127.0.0.1:3000", "http://" + w.monolith.address}))
	return w
}

// TestSink holds what the examples of mirrors promise: the verdicts are those of a gateway, a
// write reaches nobody twice, and whatever whittle does fails no user.
func TestSink(t *testing.T) {
	if theirs, own := read(t, mirrors[1].folder, "whittle.yaml"), read(t, mirrors[0].folder, "whittle.yaml"); theirs != own {
		t.Error("the examples' configs of whittle differ")
	}
	for _, f := range mirrors {
		t.Run(f.name, func(t *testing.T) {
			w := beginAtProxy(t, f, sinkRoute, testedSink, byFlaw)
			d := w.spawn(t, t, f)
			w.judged(t, d)
			w.unnoticed(t, d, f.name+"'s mirror")
		})
	}
}

func status(t *testing.T, c *admin.Client, route string) core.RouteStatus {
	t.Helper()
	s, err := c.Route(t.Context(), route)
	fatal.If(t, err)
	return s
}

// judged asks by way of the proxy until both candidates have a verdict.
func (w *world) judged(t *testing.T, d *door) {
	t.Helper()
	c, err := admin.Dial(w.whittle.Admin, "")
	fatal.If(t, err)
	defer c.Close()
	u := d.user("mirrored")
	defer u.transport.CloseIdleConnections()
	n := 0
	process.Await(t, "a verdict of both", func() (bool, string) {
		for range 50 {
			n++
			for _, path := range []string{"/items/", "/odd/"} {
				a := u.ask(http.MethodGet, fmt.Sprintf("%s%d", path, n), "X-Show", "identity")
				if a.err != nil || a.side != "monolith" || a.way != "straight" {
					return false, fmt.Sprintf("%+v\n%s", a, d.Tail())
				}
			}
		}
		equal, odd := status(t, c, byCookie), status(t, c, byFlaw)
		return equal.Verdict.State == core.Equivalent && odd.Verdict.State == core.Different, equal.Verdict.Summary + "; " + equal.Ledger.Account() + "\n" + odd.Verdict.Summary
	})
	s := status(t, c, byCookie)
	if !s.Sink || s.Share != 0 || s.NextShare != 0 || !strings.Contains(s.Holds, "The verdict holds, about whittle's own requests to both sides. Harm budget and exposure do not") {
		t.Errorf("%+v", s)
	}
	if _, err := c.Order(t.Context(), byCookie, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "a test"}); err == nil {
		t.Error("promoted")
	}
	h := w.candidate.head("identity")
	if h.Get("Host") != "shop.example" || h.Get("X-Forwarded-Proto") != "https" || !strings.Contains(h.Get("X-Forwarded-For"), clientAddress) || h.Get("X-Envoy-Expected-Rq-Timeout-Ms") != "" {
		t.Errorf("the candidate was told %v", h)
	}
}

// unnoticed holds that users get all of their responses whatever is done to whittle.
func (w *world) unnoticed(t *testing.T, d *door, name string) {
	t.Helper()
	l := d.load()
	more := 60
	if !testing.Short() {
		more = 500
	}
	slow := func(is bool) func() {
		return func() { w.monolith.slow.Store(is); w.candidate.slow.Store(is) }
	}
	for _, p := range []struct {
		name string
		do   func()
	}{
		{"there", func() {}},
		{"slow: both sides take 500 ms", slow(true)},
		{"stopped by SIGSTOP", func() { slow(false)(); w.signal(t, syscall.SIGSTOP) }},
		{"absent", func() { w.signal(t, syscall.SIGKILL); <-w.whittle.Ended }},
	} {
		p.do()
		l.during(p.name)
		process.Await(t, fmt.Sprintf("%d reads while whittle is %s", more, p.name), func() (bool, string) {
			n := l.went("straight")
			return n >= more, fmt.Sprint(n)
		})
	}
	close(l.stop)
	l.all.Wait()
	both := slices.DeleteFunc(slices.Collect(maps.Keys(w.candidate.writes)), func(path string) bool { return w.monolith.writes[path] == 0 })
	if len(l.faults)+len(l.undone) > 0 || w.monolith.twice() != nil || w.candidate.twice() != nil || len(both) > 0 {
		t.Errorf("failed: %q, %q; written twice: %q, %q, %q", l.faults, l.undone, w.monolith.twice(), w.candidate.twice(), both)
	}
	if !t.Failed() {
		latencyRows = append(latencyRows, measured{name, l.phases[1:]})
	}
}

// latencyRows are what users saw of proxies whose sink or observer whittle was.
var latencyRows []measured

// latencyTable has the median and the 99th percentile of each row and phase.
func latencyTable() string {
	return tableOf(latencyRows, func(p phase) string {
		slices.Sort(p.took)
		at := func(part int) time.Duration { return p.took[(len(p.took)-1)*part/100].Round(100 * time.Microsecond) }
		return fmt.Sprintf("%s, %s", at(50), at(99))
	})
}

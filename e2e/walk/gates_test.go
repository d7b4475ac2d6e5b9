package walk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/promquery"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// pipeline is a team's server: a gate, and a receiver of notifications.
type pipeline struct {
	*httptest.Server
	mu     sync.Mutex // guards the following
	status int
	asked  []string
	heard  []string
	chat   []string
	bad    []string
}

const hookKey = "0123456789abcdef0123456789abcdef"

func newPipeline(t *testing.T) *pipeline {
	p := &pipeline{status: http.StatusServiceUnavailable}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		stamp, sum, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Whittle-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(hookKey))
		_, _ = io.WriteString(mac, stamp+"."+string(b))
		if hex.EncodeToString(mac.Sum(nil)) != sum {
			p.bad = append(p.bad, r.URL.Path)
		}
		var m struct{ Event, Text, Gate, Before string }
		if err := json.Unmarshal(b, &m); err != nil {
			p.bad = append(p.bad, string(b))
		}
		switch r.URL.Path {
		case "/gate":
			p.asked = append(p.asked, m.Gate+" before "+m.Before)
			w.WriteHeader(p.status)
			_, _ = io.WriteString(w, "tests are running, says bob@example.com")
		case "/hook":
			p.heard = append(p.heard, m.Event)
		case "/chat/" + hookSecret:
			p.chat = append(p.chat, m.Text)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

const hookSecret = "T0B0SECRET"

func (p *pipeline) respond(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *pipeline) has(list *[]string, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(strings.Join(*list, "\n"), text)
}

// TestGates takes a rollout through a gate by hand and one by webhook, over kills, and
// lets a receiver and a chat know. A rollback waits for neither.
func TestGates(t *testing.T) {
	p := newPipeline(t)
	candidate := newFake(t)
	s := setting{
		Monolith: newFake(t).address(), Candidate: candidate.address(), Plain: true,
		Compare: "{kind: statistical, value: number in the body, per: request.times, confidence: 99.99%, margin: {mean: 5%, spread: 2x, distribution: 0.5}, min_compared: 50}",
		More: fmt.Sprintf(`
notify:
  - {name: log, url: %[1]s/hook, key_env: HOOK_KEY}
  - {name: chat, url_env: CHAT_URL, format: slack, key_env: HOOK_KEY, events: [rise, rollback, trip, gate]}
`, p.URL),
	}
	s.Rollout = fmt.Sprintf(`
      steps: [50, 100]
      hold: 10ms
      soak: 0s
      harm: off
      min_requests: 1
      sticky_by: header:X-User
      gates:
        - {name: board, confirm: manual, before: [first]}
        - {name: ci, url: %s/gate, key_env: HOOK_KEY, before: [first, step], every: 1s}`, p.URL)
	t.Setenv("HOOK_KEY", hookKey)
	t.Setenv("CHAT_URL", p.URL+"/chat/"+hookSecret)
	g := open(t, s)
	said := func() string { return g.Said() }
	c := gather(g.Public, 8, small)
	r := g.await(t, "the board's approval to be all that is waited for", func(r *whittle.RouteStatus) bool {
		return r.Next == "shadow → 50 %: needs the approval of gate board; waiting for gate ci, which has not responded yet." ||
			strings.HasPrefix(r.Next, "shadow → 50 %: needs the approval of gate board; waiting for gate ci since ")
	})
	if len(r.Gates) != 2 || !r.Gates[0].ByHand || r.Gates[0].Open {
		t.Errorf("%+v", r.Gates)
	}
	_, err := g.client.Order(t.Context(), g.name, rollout.Order{Kind: rollout.Approve, By: "ann", Reason: "board of Monday"})
	fatal.If(t, err)
	c.home()
	all := said()
	g.Kill()
	g.run(t)
	c = gather(g.Public, 8, small)
	r = g.await(t, "the other gate's word", func(r *whittle.RouteStatus) bool {
		return strings.HasPrefix(r.Next, "shadow → 50 %: waiting for gate ci since ") && strings.Contains(r.Next, "last response 503")
	})
	if !r.Gates[0].Open || r.Gates[1].Open || r.Gates[1].Asked == 0 || r.Share != 0 || strings.Contains(r.Next, "bob@") {
		t.Errorf("after a kill: %q, %+v", r.Next, r.Gates)
	}
	p.respond(http.StatusOK)
	g.await(t, "all users on the candidate", func(r *whittle.RouteStatus) bool { return r.Share == whittle.All })
	if !p.has(&p.asked, "ci before first") || !p.has(&p.asked, "ci before step") {
		t.Errorf("asked %q", p.asked)
	}
	p.respond(http.StatusServiceUnavailable)
	candidate.broken.Store(true)
	g.await(t, "a rollback", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseRolledBack })
	c.home()
	c.content(t)
	g.Signal(t, syscall.SIGTERM)
	if err := g.Wait(); err != nil {
		t.Errorf("the end: %v", err)
	}
	for _, want := range []string{"verdict", "gate", "rise", "order"} {
		if !p.has(&p.heard, want) {
			t.Errorf("%q was not sent: %q", want, p.heard)
		}
	}
	if !p.has(&p.chat, "share rises 0 % → 50 %") || !p.has(&p.chat, "100 % → 0 %") || p.has(&p.chat, "order") {
		t.Errorf("chat %q", p.chat)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bad) > 0 {
		t.Errorf("not signed, or not JSON: %q", p.bad)
	}
	if all += said(); strings.Contains(all, hookSecret) {
		t.Errorf("the secret URL is in the log:\n%s", all)
	}
}

// TestRealPrometheus puts queries of every kind to a real server.
func TestRealPrometheus(t *testing.T) {
	_, url := process.Prometheus(t, "global: {scrape_interval: 1s}\n")
	want := map[string]string{
		"vector(7)": "7", "1 + 1": "2", "no_such_metric": "no candidate", "sum(": "the server refuses it: bad_data: ", "up[5m]": "the result is a matrix",
		`"text"`: "the result is a string", "0 / 0": "NaN", `vector(1) or label_replace(vector(2), "a", "b", "", "")`: "2 series where one is wanted",
	}
	f := &config.File{Prometheus: &whittle.Prometheus{URL: url, Timeout: process.Patience}, Routes: []whittle.Route{{}}}
	for text := range want {
		f.Routes[0].Queries = append(f.Routes[0].Queries, whittle.Query{Name: text, Value: whittle.SideQuery{Candidate: text}, Every: time.Hour})
	}
	type named struct {
		query string
		r     whittle.QueryReading
	}
	got := make(chan named, len(want))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := promquery.Poller{
		Config: func() *config.File { return f }, Log: slog.New(slog.DiscardHandler),
		Reading: func(_, query string, r whittle.QueryReading) { got <- named{query, r} },
	}
	go func() { ended <- p.Run(ctx) }()
	for range want {
		n := <-got
		said := n.r.Missing
		switch v := n.r.Value; {
		case said != "":
		case v.NoCandidate:
			said = "no candidate"
		case math.IsNaN(v.Candidate):
			said = "NaN"
		default:
			said = fmt.Sprint(v.Candidate)
		}
		if !strings.HasPrefix(said, want[n.query]) {
			t.Errorf("%s: %q, want %q", n.query, said, want[n.query])
		}
	}
	cancel()
	fatal.If(t, <-ended)
}

// shop is a page of metrics that counts on with every scrape: orders, of which some fail.
type shop struct {
	*httptest.Server
	scrapes, failed atomic.Int64
	broken          atomic.Bool
}

func newShop(t *testing.T) *shop {
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := s.scrapes.Add(1)
		more := int64(1)
		if s.broken.Load() {
			more = 60
		}
		_, _ = fmt.Fprintf(w, "orders_total{app=\"old\"} %d\norders_total{app=\"new\"} %d\norders_failed_total{app=\"old\"} %d\norders_failed_total{app=\"new\"} %d\nqueue_depth{app=\"new\"} 12\n",
			100*n, 100*n, n, s.failed.Add(more))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestQueryGuard has the figures of a real Prometheus server hold up a rise, let it
// happen, and take the users off a candidate that no response of its own gives away.
func TestQueryGuard(t *testing.T) {
	s := newShop(t)
	server, url := process.Prometheus(t, fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]\n", s.Listener.Addr()))
	set := setting{
		Monolith: newFake(t).address(), Candidate: newFake(t).address(), Plain: true,
		Compare: "{kind: statistical, value: number in the body, per: request.times, confidence: 99.99%, margin: {mean: 5%, spread: 2x, distribution: 0.5}, min_compared: 50}",
		Rollout: "{steps: [50, 100], hold: 1h, soak: 0s, harm: off, min_requests: 1, sticky_by: header:X-User}",
		Guard: `
      p99: off
      query:
        - {name: orders, every: 1s, bad: {query: sum by (app) (orders_failed_total), label: app, monolith: old, candidate: new}, ` +
			`total: {monolith: 'sum(orders_total{app="old"})', candidate: 'sum(orders_total{app="new"})'}}
        - {name: depth, every: 1s, value: 'max(queue_depth{app="%s"})', above: 1000}`,
		More: "prometheus: {url: " + url + "}\n",
	}
	guard := set.Guard
	set.Guard = fmt.Sprintf(guard, "wrong")
	g := open(t, set)
	c := gather(g.Public, 8, small)
	r := g.await(t, "a query without data to be all that is waited for", func(r *whittle.RouteStatus) bool {
		return r.Next == "shadow → 50 %: query depth has no data: there is no series of the candidate."
	})
	fatal.Same(t, r.Share, 0, "it rose without data: %+v", r)
	set.Guard = fmt.Sprintf(guard, "new")
	g.write(t, set)
	g.await(t, "half of the users on the candidate", func(r *whittle.RouteStatus) bool { return r.Share == 5000 })
	s.broken.Store(true)
	r = g.await(t, "a rollback", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseRolledBack })
	if last := r.Timeline[len(r.Timeline)-1]; !strings.HasPrefix(last.Reason, "The query orders guard was breached: bad events: candidate ") {
		t.Errorf("%q", last.Reason)
	}
	server.Kill()
	process.Await(t, "the guards to say that there is no data", func() (bool, string) {
		n, said := 0, ""
		for _, m := range g.route(t).Guards {
			said += m.Name + ": " + m.Summary + "\n"
			if strings.HasPrefix(m.Name, "query ") && strings.Contains(m.Summary, "no data now: ") && strings.Contains(m.Summary, "the server cannot be asked") {
				n++
			}
		}
		return n == 2, said
	})
	c.home()
	c.content(t)
}

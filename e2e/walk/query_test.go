package walk

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/promquery"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

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
	if r.Share != 0 {
		t.Errorf("it rose without data: %+v", r)
	}
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

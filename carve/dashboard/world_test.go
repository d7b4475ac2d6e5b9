package dashboard_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/dashboard"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// noon is when the world's clock stands still.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// idleRoute is a route that nothing has come to yet.
func idleRoute(name string) whittle.RouteStatus {
	return whittle.RouteStatus{
		Route: name, Phase: whittle.PhaseShadow, Since: noon, Next: "shadow → 1 %: the verdict EQUIVALENT; 0 exchanges so far.",
		Verdict: whittle.Verdict{
			State: whittle.Undecided, Confidence: 0.99, MoreNeeded: -1, Summary: "nothing has been compared yet",
			Findings: []whittle.Finding{}, Bounds: []whittle.Bound{},
		},
		Ledger: whittle.Ledger{Skipped: map[string]int64{}}, Guards: []whittle.Meter{}, Timeline: []whittle.Decision{},
	}
}

func bounds(n int) []whittle.Bound {
	w := 1 / math.Sqrt(float64(max(n, 1)))
	return []whittle.Bound{
		{
			What: "mean", Estimate: 0.0004, Low: 0.0004 - 0.12*w, High: 0.0004 + 0.12*w, MarginLow: -0.005, MarginHigh: 0.005, Inside: n > 900,
			Summary: "the mean differs by -0.31 % to +0.39 % of the monolith's; 0.50 % either way counts as none",
		},
		{
			What: "spread", Estimate: 1.02, Low: max(0, 1.02-7*w), High: 1.02 + 8*w, MarginLow: 0.8, MarginHigh: 1.25, Inside: n > 1100,
			Summary: "the candidate spreads 0.870 to 1.190 times as wide as the monolith; 0.8000 to 1.250 counts as equal",
		},
		{
			What: "distribution", Estimate: 0.02, Low: 0, High: min(1, 0.02+3*w), MarginHigh: 0.1, Inside: n > 1400,
			Summary: "the two distributions are at most 0.0900 apart, by the share of responses below any of 31 thresholds; 0.1 counts as none",
		},
		{
			ID: "exchanges", What: "share of responses", Low: 0, High: min(1, 0.04*w), MarginHigh: 0.005, Inside: n > 60,
			Summary: "0 of 1,812 exchanges had another status, content type, header or text, a wrong value, or no response: at most 0.26 % can",
		},
	}
}

// shifting is a route on its way, everything well.
func shifting(name string) whittle.RouteStatus {
	s := idleRoute(name)
	s.Phase, s.Share, s.Percent, s.NextShare = whittle.PhaseShift, 2500, 25, 5000
	s.Next = "25 % → 50 % in 12s at the earliest; 31 of 50 requests served."
	s.Verdict = whittle.Verdict{
		State: whittle.Equivalent, Compared: 1812, Confidence: 0.99, Novelty: 0.004, Coverage: covered(), Findings: []whittle.Finding{intended()}, Bounds: bounds(1812),
		Summary: "No difference was found in 1,812 exchanges, and what could differ unseen is within the margins.",
	}
	s.Ledger = whittle.Ledger{Total: 2411, Compared: 1812, Skipped: map[string]int64{"sampled": 402, "served": 171, "canceled": 3}, Failed: 4, Shed: 17, Pending: 2}
	s.Ledger.Since, s.Ledger.Gap = noon.Add(-26*time.Hour), &whittle.Gap{From: noon.Add(-2 * time.Hour), To: noon.Add(-2*time.Hour + 7*time.Second)}
	s.Guards = []whittle.Meter{
		{
			Name: "errors", Monolith: 0.001, Candidate: 0.0021, Limit: 0.011, EValue: 1.8, Threshold: 300, Count: 481,
			Summary: "1 of 481 candidate responses bad (0.2079 %), monolith 0.1 % over the same time, " +
				"limit 1.1 %; evidence 1.8 of 300, the least that could decide is 9 bad responses in a row",
		},
		{
			Name: "p99", Monolith: 48.2, Candidate: 61.9, Limit: 72.3, EValue: 96, Threshold: 300, Count: 480,
			Summary: "9 of 480 candidate responses slower than 72.3 ms (1.875 %), monolith's p99 48.2 ms; " +
				"evidence 96 of 300, the least that could decide is 4 bad responses in a row",
		},
		{
			Name: "mismatch", Candidate: 0, Limit: 0.001, EValue: 0.21, Threshold: 300, Count: 1812,
			Summary: "0 of 1,812 compared responses differ (0 %), limit 0.1 %; evidence 0.21 of 300, the least that could decide is 2 bad responses in a row",
		},
	}
	s.Timeline = []whittle.Decision{
		{At: noon.Add(-12 * time.Minute), Phase: whittle.PhaseOff, Reason: "Switched off by hand.", By: "ann"},
		{At: noon.Add(-11 * time.Minute), Phase: whittle.PhaseShadow, Reason: "Switched on by hand, in shadow.", By: "ann"},
		{At: noon.Add(-9 * time.Minute), Phase: whittle.PhaseShadow, Reason: "Switched on by hand, in shadow: first try.", By: "ann"},
		{At: noon.Add(-4 * time.Minute), To: 100, Phase: whittle.PhaseShift, Reason: "The verdict is EQUIVALENT: no difference in 1,502 exchanges.", By: "whittle"},
		{At: noon.Add(-3 * time.Minute), From: 100, To: 500, Phase: whittle.PhaseShift, Reason: "1 % was held for 30s, and 50 requests were served well.", By: "whittle"},
		{At: noon.Add(-2 * time.Minute), From: 500, To: 500, Phase: whittle.PhaseShift, Reason: "Held by ann: lunch.", By: "ann"},
		{At: noon.Add(-time.Minute), From: 500, To: 500, Phase: whittle.PhaseShift, Reason: "Resumed by hand.", By: "ann"},
		{At: noon.Add(-30 * time.Second), From: 500, To: 2500, Phase: whittle.PhaseShift, Reason: "5 % was held for 30s, and 50 requests were served well.", By: "whittle"},
	}
	s.Monolith = whittle.Traffic{PerSecond: 41.2, Mirrored: 2.1, Errors: 0.001, P50: 11.3, P99: 48.2}
	s.Candidate = whittle.Traffic{PerSecond: 13.6, Mirrored: 40.8, Errors: 0.0021, P50: 2.4, P99: 61.9}
	return s
}

func intended() whittle.Finding {
	return whittle.Finding{
		Kind: whittle.FoundField, Path: "$.version", Summary: `$.version has another value in 1,812 of 1,812 responses, 1,812 times "1" → "2"`, Monolith: `"1"`, Candidate: `"2"`,
		Count: 1812, Of: 1812, Expected: "the new service says so", Samples: []whittle.Sample{sample(`{"version":"1"}`, `{"version":"2"}`)},
	}
}

func sample(monolith, candidate string) whittle.Sample {
	return whittle.Sample{At: noon.Add(-time.Hour), Request: `POST /Count {"times": 150000}`, Monolith: monolith, Candidate: candidate}
}

// placed is a sample of which the place is known.
func placed() whittle.Sample {
	s := sample(`{"items":[{"name":"pen"`, `{"items":[{"name":"pen"`)
	s.Where, s.MonolithValue, s.CandidateValue = "$.items[3].price", `"9.90␠"`, `"9.9"`
	return s
}

// different is the published count service: what whittle has to say of it.
func different(name string) whittle.RouteStatus {
	s := shifting(name)
	s.Phase, s.Share, s.Percent = whittle.PhaseRolledBack, 0, 0
	s.Next = "No shift: the verdict is DIFFERENT. Fix the candidate and reset, or declare the difference in the config."
	s.Verdict.State, s.Verdict.Compared = whittle.Different, 318
	s.Verdict.Summary = "4 differences are shown: mean, repeats, wrong_value."
	s.Verdict.Bounds = bounds(318)
	s.Verdict.Findings = []whittle.Finding{
		{
			Kind: whittle.FoundWrongValue, Path: "times = 60000000",
			Summary: "9 of 9 responses to requests with times = 60000000 are values that the monolith would never give: -1,325,061,486 where it said 2,999,905,810",
			Cause:   "the sum plus 4,294,967,296 fits in 9 of 9: a 32-bit total wrapped", Monolith: "2,999,905,810", Candidate: "-1,325,061,486",
			Count: 9, Of: 318, Decided: true, DecidedAt: 212, EValue: 4.1e6,
			Samples: []whittle.Sample{sample("Counted to 2999905810 \n", "Counted to -1325061486 \n"), sample("Counted to 3000116204 \n", "Counted to -1325117102 \n")},
		},
		{
			Kind: whittle.FoundMean, Summary: "the candidate's mean is 1.0 % lower: 49.50 against 50.00 per request.times", Monolith: "50.00 per request.times", Candidate: "49.50 per request.times",
			Cause: "the candidate's draws may go to 99 and not to 100", Count: 0, Of: 318, Decided: true, DecidedAt: 41, EValue: 9.9e11,
		},
		{
			Kind: whittle.FoundStatus, Summary: "status 500 instead of 200 in 3 of 318", Monolith: "200", Candidate: "500", Count: 3, Of: 318, EValue: 24,
			Samples: []whittle.Sample{sample("Counted to 7489905 \n", "internal error")},
		},
		{
			Kind: whittle.FoundField, Path: "$.items[*].price", Summary: "$.items[*].price has another value in 31 of 318 responses, 12 times 9.90 → 9.9",
			Monolith: "9.90", Candidate: `"9.90"`, Count: 31, Of: 318, Decided: true, DecidedAt: 120, EValue: 812,
			Cause: "a guess: trailing zeros are left out (1.50 is 1.5) (fits 31 of 31)",
			Samples: []whittle.Sample{placed(), sample(
				`{"id":7,"items":[{"name":"pen","price":9.90,"tags":["a","b"]},{"name":"ink","price":3}],"total":12.90}`,
				`{"id":7,"items":[{"name":"pen","price":"9.90","tags":["a","c","b"]},{"name":"ink","price":3,"vat":19}],"total":12.9}`)},
		},
		intended(),
	}
	s.Guards[1].Breached, s.Guards[1].EValue, s.Guards[1].Candidate = true, 412, 143
	s.Timeline = append(s.Timeline, whittle.Decision{At: noon, From: 2500, Phase: whittle.PhaseRolledBack, Reason: "Guard p99: 31 of 480 candidate responses slower than 72.3 ms.", By: "whittle"})
	s.Candidate = whittle.Traffic{}
	return s
}

// many gives n routes of every phase and verdict.
func many(n int) []whittle.RouteStatus {
	list := make([]whittle.RouteStatus, n)
	for i := range list {
		name := fmt.Sprintf("GET /api/v2/things/%03d/{id}", i)
		switch i % 10 {
		case 0:
			list[i] = different(name)
		case 1, 2, 3:
			list[i] = idleRoute(name)
		case 4:
			list[i] = idleRoute(name)
			list[i].Phase, list[i].Next = whittle.PhaseOff, "Nothing: the route is switched off until it is promoted or reset."
		case 5:
			list[i] = shifting(name)
			list[i].Phase, list[i].Share, list[i].Percent = whittle.PhaseLive, whittle.All, 100
			list[i].Next = "Nothing more to shift: the candidate responds 100 %, and a sample is still compared."
		case 6:
			list[i] = shifting(name)
			list[i].Phase, list[i].Share, list[i].Percent = whittle.PhaseShadow, 0, 0
			list[i].Verdict.State, list[i].Verdict.MoreNeeded = whittle.Undecided, 420
			list[i].Candidate = whittle.Traffic{}
		default:
			list[i] = shifting(name)
			list[i].Monolith.PerSecond = float64(i)
		}
	}
	return list
}

// pastOf is how such a route came to where it is.
func pastOf(s whittle.RouteStatus) whittle.Past {
	p := whittle.Past{Route: s.Route}
	for i := 1; i <= 120; i++ {
		n := s.Verdict.Compared * i / 120
		at := noon.Add(time.Duration(i-120) * 5 * time.Second)
		e := whittle.EvidencePoint{At: at, State: whittle.Undecided, Compared: n}
		for _, b := range bounds(n) {
			wobble := math.Sin(float64(i)/5) / math.Sqrt(float64(max(n, 1))) * (b.High - b.Low)
			e.Bounds = append(e.Bounds, whittle.BoundPoint{ID: b.ID, What: b.What, Estimate: b.Estimate + wobble, Low: b.Low + wobble, High: b.High + wobble})
		}
		p.Evidence = append(p.Evidence, e)
		share := []whittle.Share{0, 100, 500, 2500}[i/31]
		m, c := s.Monolith, whittle.Traffic{}
		m.PerSecond *= 1 + 0.2*math.Sin(float64(i)/9)
		m.P99 *= 1 + 0.15*math.Sin(float64(i)/4)
		if share > 0 {
			c = whittle.Traffic{PerSecond: m.PerSecond * share.Percent() / 100, Errors: 0.002, P50: 2.4, P99: 20 + 9*math.Sin(float64(i)/3)}
			m.PerSecond -= c.PerSecond
		}
		p.Traffic = append(p.Traffic, whittle.TrafficPoint{At: at, Share: share, Monolith: m, Candidate: c})
	}
	return p
}

// covered is what a verdict stands on, of each kind.
func covered() *whittle.Coverage {
	return &whittle.Coverage{
		ByValue: 43, AtLeast: true,
		ByForm: []whittle.FormField{
			{Path: "$.quote_id", Form: "a new UUID v4 each time", Class: "uuid", Compared: 1700},
			{Path: "$.expires_at", Form: "a time as RFC 3339 in seconds, Z, 15 min ahead", Class: "time", Declared: true, Compared: 1700},
		},
		NotCompared: []whittle.Uncompared{{Path: "$.note", Reason: "ignored in the config"}},
		Summary:     "at least 43 fields compared by value, 2 by form, 1 not compared",
	}
}

// order is one that the world was given.
type order struct {
	Route string
	rollout.Order
}

// world is a gateway that a test sets, behind the real admin API. It implements
// admin.Controller.
type world struct {
	url string

	mu     sync.Mutex // guards the following
	routes []whittle.RouteStatus
	fleet  whittle.FleetStatus
	orders []order
	refuse string // why orders are refused; empty: they are not
	down   bool   // every connection breaks
	cut    context.CancelFunc
	reach  context.Context // ends when connections are to break
}

// serve gives the dashboard over some routes. Tokens: the operator's, and the
// viewer's; none for a page that asks for none.
func serve(t *testing.T, routes []whittle.RouteStatus, tokens ...string) *world {
	t.Helper()
	return serveWith(t, &world{routes: routes}, nil, tokens...)
}

// serveWith is serve of a world, with a fleet or without.
func serveWith(t *testing.T, g *world, fleet func() *whittle.FleetStatus, tokens ...string) *world {
	t.Helper()
	g.reach, g.cut = context.WithCancel(t.Context())
	ending := make(chan struct{})
	o := admin.Options{Controller: g, Fleet: fleet, Address: "127.0.0.1:1", Page: dashboard.Handler(), Version: "1.2.3", Ending: ending}
	if len(tokens) == 2 {
		o.Token, o.ViewerToken = tokens[0], tokens[1]
	}
	handler, err := admin.New(o)
	fatal.If(t, err)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		down, reach := g.down, g.reach
		g.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(reach, cancel)()
		handler.ServeHTTP(w, r.WithContext(ctx))
		if reach.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(ending) })
	g.url = srv.URL + "/"
	return g
}

// set changes the world.
func (g *world) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// fall breaks every connection, and each new one until rise.
func (g *world) fall() {
	g.set(func() {
		g.down = true
		g.cut()
	})
}

func (g *world) rise(t *testing.T) {
	g.set(func() {
		g.down = false
		g.reach, g.cut = context.WithCancel(t.Context())
	})
}

func (g *world) given() []order {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.orders)
}

func (g *world) Status() []whittle.RouteStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.routes)
}

func (g *world) Route(name string) (whittle.RouteStatus, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := g.find(name); i >= 0 {
		return g.routes[i], nil
	}
	return whittle.RouteStatus{}, whittle.Errorf(whittle.NotFound, "there is no route %q", name)
}

// find gives a route's index, -1 where there is none. The caller holds mu.
func (g *world) find(name string) int {
	return slices.IndexFunc(g.routes, func(s whittle.RouteStatus) bool { return s.Route == name })
}

func (g *world) Past(name string) (whittle.Past, error) {
	s, err := g.Route(name)
	if err != nil || s.Ledger.Total == 0 {
		return whittle.Past{Route: name}, err
	}
	return pastOf(s), nil
}

func (g *world) Order(_ context.Context, name string, o rollout.Order) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.find(name)
	switch {
	case i < 0:
		return whittle.Errorf(whittle.NotFound, "there is no route %q", name)
	case g.refuse != "":
		return whittle.Errorf(whittle.FailedPrecondition, "%s", g.refuse).WithHint("wait for more traffic")
	}
	g.orders = append(g.orders, order{name, o})
	g.routes[i] = obeyed(g.routes[i], o)
	return nil
}

// obeyed is the route after an order.
func obeyed(s whittle.RouteStatus, o rollout.Order) whittle.RouteStatus {
	from := s.Share
	switch o.Kind {
	case rollout.Promote:
		s.Phase, s.Share = whittle.PhaseShift, 5000
	case rollout.Hold:
		s.Held = true
	case rollout.Resume:
		s.Held = false
	case rollout.Rollback:
		s.Phase, s.Share = whittle.PhaseRolledBack, 0
	case rollout.Off:
		s.Phase, s.Share, s.NextShare = whittle.PhaseOff, 0, 0
	case rollout.Reset:
		s.Phase, s.Share, s.Verdict = whittle.PhaseShadow, 0, idleRoute("").Verdict
	}
	s.Percent = s.Share.Percent()
	reason := strings.ToUpper(string(o.Kind)) + ": " + o.Reason
	s.Timeline = append(slices.Clone(s.Timeline), whittle.Decision{At: noon, From: from, To: s.Share, Phase: s.Phase, Reason: reason, By: o.By})
	return s
}

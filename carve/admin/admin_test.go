package admin_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

var update = flag.Bool("update", false, "write the golden files anew")

const (
	token       = "0123456789abcdef0123456789abcdef"
	viewerToken = "fedcba9876543210fedcba9876543210"
)

// desk is a controller that remembers the orders it was given.
type desk struct {
	routes []whittle.RouteStatus
	orders []rollout.Order
	names  []string
	err    error
}

func (d *desk) Status() []whittle.RouteStatus { return d.routes }

func (d *desk) Route(name string) (whittle.RouteStatus, error) {
	for _, r := range d.routes {
		if r.Route == name {
			return r, nil
		}
	}
	return whittle.RouteStatus{}, whittle.Errorf(whittle.NotFound, "there is no route %q with a candidate", name).WithHint("whittle status lists the routes")
}

func (d *desk) Past(name string) (whittle.Past, error) {
	if _, err := d.Route(name); err != nil {
		return whittle.Past{}, err
	}
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	return whittle.Past{
		Route:    name,
		Evidence: []whittle.EvidencePoint{{At: at, State: whittle.Undecided, Compared: 40}},
		Traffic:  []whittle.TrafficPoint{{At: at, Share: 500, Monolith: whittle.Traffic{PerSecond: 19, P50: 2}, Candidate: whittle.Traffic{PerSecond: 1, P50: 1}}},
	}, nil
}

func (d *desk) Order(_ context.Context, name string, o rollout.Order) error {
	if _, err := d.Route(name); err != nil {
		return err
	}
	d.names, d.orders = append(d.names, name), append(d.orders, o)
	return d.err
}

func newDesk() *desk {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	return &desk{routes: []whittle.RouteStatus{
		{
			Route: "POST /Count", Phase: whittle.PhaseShift, Share: 500, Percent: 5, Since: at,
			Next: "5 % → 25 % in 12s at the earliest; 31 of 50 requests served.",
			Verdict: whittle.Verdict{
				State: whittle.Equivalent, Compared: 812, Confidence: 0.99, Novelty: 0.01, Summary: "No difference in 812 exchanges.",
				Findings: []whittle.Finding{{
					Kind: whittle.FoundMean, Summary: "The candidate's mean is 1 % lower.", Count: 3, Of: 812, EValue: 0.4, Expected: "rounding",
					Samples: []whittle.Sample{{At: at, Request: `POST /Count {"times": 1}`, Monolith: "Counted to 50 \n", Candidate: "Counted to 49 \n"}},
				}},
				Bounds: []whittle.Bound{{What: "mean", Estimate: 0.001, Low: -0.002, High: 0.003, MarginLow: -0.005, MarginHigh: 0.005, Inside: true, Summary: "The mean differs by 0.3 % at most."}},
			},
			Ledger: whittle.Ledger{
				Total: 900, Compared: 812, Skipped: map[string]int64{whittle.SkipSampled: 80}, Failed: 1, Shed: 3, Pending: 4, Since: at,
				Gap: &whittle.Gap{From: at.Add(time.Hour), To: at.Add(2 * time.Hour)},
			},
			Guards:   []whittle.Meter{{Name: "errors", Monolith: 0.001, Candidate: 0.002, Limit: 0.011, EValue: 0.3, Threshold: 300, Count: 31, Summary: "Within the limit."}},
			Timeline: []whittle.Decision{{At: at, From: 100, To: 500, Phase: whittle.PhaseShift, Reason: "1 % was held for 30s.", By: "whittle", Generation: 7}},
		},
		{Route: "GET /", Phase: whittle.PhaseShadow, Verdict: whittle.Verdict{State: whittle.Undecided}},
		{Route: "GET /a//b/../{rest...}", Phase: whittle.PhaseOff},
	}}
}

func handler(t *testing.T, o admin.Options) http.Handler {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:8081"
	}
	h, err := admin.New(o)
	fatal.If(t, err)
	return h
}

type edit func(*http.Request)

func with(name, value string) edit { return func(r *http.Request) { r.Header.Set(name, value) } }

func ask(h http.Handler, method, path, body string, edits ...edit) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8081"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edits {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The responses are a promise to scripts: see docs/operate.md.
func TestResponsesAreAsDocumented(t *testing.T) {
	h := handler(t, admin.Options{
		Controller: newDesk(), Version: "1.2.3",
		Config: func() any { return map[string]any{"listen": ":8080"} },
	})
	for file, q := range map[string]struct{ method, path, body string }{
		"status.json":         {"GET", "/api/v1/status", ""},
		"route.json":          {"GET", "/api/v1/routes/POST%20%2FCount", ""},
		"findings.json":       {"GET", "/api/v1/routes/POST%20%2FCount/findings", ""},
		"findings_none.json":  {"GET", "/api/v1/routes/GET%20%2F/findings", ""},
		"findings_page.json":  {"GET", "/api/v1/routes/POST%20%2FCount/findings?kind=mean&q=LOWER&expected=true&decided=false&limit=1", ""},
		"findings_other.json": {"GET", "/api/v1/routes/POST%20%2FCount/findings?kind=spread", ""},
		"findings_bad.json":   {"GET", "/api/v1/routes/POST%20%2FCount/findings?limit=-1", ""},
		"history.json":        {"GET", "/api/v1/routes/POST%20%2FCount/history", ""},
		"session.json":        {"GET", "/api/v1/session", ""},
		"order.json":          {"POST", "/api/v1/routes/POST%20%2FCount/hold", `{"reason": "lunch"}`},
		"config.json":         {"GET", "/api/v1/config", ""},
		"livez.json":          {"GET", "/livez", ""},
		"readyz.json":         {"GET", "/readyz", ""},
		"unknown_route.json":  {"GET", "/api/v1/routes/nothing", ""},
		"unknown_verb.json":   {"POST", "/api/v1/routes/POST%20%2FCount/explode", "{}"},
		"unknown_path.json":   {"GET", "/api/v2/status", ""},
		"wrong_method.json":   {"POST", "/api/v1/status", "{}"},
		"wrong_body.json":     {"POST", "/api/v1/routes/POST%20%2FCount/hold", `{"raeson": "lunch"}`},
		"two_bodies.json":     {"POST", "/api/v1/routes/POST%20%2FCount/hold", `{}{}`},
		"body_too_large.json": {"POST", "/api/v1/routes/POST%20%2FCount/hold", `{"reason": "` + strings.Repeat("x", 20_000) + `"}`},
	} {
		t.Run(file, func(t *testing.T) {
			w := ask(h, q.method, q.path, q.body)
			got := http.StatusText(w.Code) + "\n" + w.Body.String()
			path := filepath.Join("testdata", file)
			if *update {
				fatal.If(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want := fatal.Read(t, path)
			fatal.Same(t, got, want, "the response")
			fatal.Same(t, w.Header().Get("Content-Type"), "application/json", "content type")
		})
	}
}

func TestOrdersArriveWhole(t *testing.T) {
	d := newDesk()
	h := handler(t, admin.Options{Controller: d})
	for _, kind := range rollout.Kinds {
		w := ask(h, "POST", "/api/v1/routes/GET%20%2Fa%2F%2Fb%2F..%2F%7Brest...%7D/"+string(kind), `{"reason":"r","by":"ann","force":true,"to_bp":2500,"generation":7}`)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", kind, w.Code, w.Body)
		}
		want := rollout.Order{Kind: kind, Reason: "r", By: "ann", Force: true, To: 2500, Generation: 7}
		if got := d.orders[len(d.orders)-1]; got != want || d.names[len(d.names)-1] != "GET /a//b/../{rest...}" {
			t.Errorf("%s arrived as %+v for %q", kind, got, d.names[len(d.names)-1])
		}
	}
	if w := ask(h, "POST", "/api/v1/routes/GET%20%2F/rollback", ""); w.Code != http.StatusOK {
		t.Errorf("no body at all: %d %s", w.Code, w.Body)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	d := newDesk()
	h := handler(t, admin.Options{Controller: d})
	for code := whittle.Internal; code <= whittle.FallsShort; code++ {
		d.err = whittle.Errorf(code, "because").WithHint("do so")
		w := ask(h, "POST", "/api/v1/routes/GET%20%2F/promote", "{}")
		if w.Code != code.HTTPStatus() || !strings.Contains(w.Body.String(), `"code": "`+code.String()+`"`) || !strings.Contains(w.Body.String(), "do so") {
			t.Errorf("%v: %d %s", code, w.Code, w.Body)
		}
	}
	d.err = errors.New("boom")
	fatal.Same(t, ask(h, "POST", "/api/v1/routes/GET%20%2F/promote", "{}").Code, http.StatusInternalServerError, "an error without a code")
}

func TestWhoMayAsk(t *testing.T) {
	bearer := with("Authorization", "Bearer "+token)
	hostIs := func(host string) edit { return func(r *http.Request) { r.Host = host } }
	order := "/api/v1/routes/GET%20%2F/hold"
	open := admin.Options{}
	closed := admin.Options{Token: token}
	public := admin.Options{Address: "0.0.0.0:8081", Token: token}
	both := admin.Options{Address: "0.0.0.0:8081", Token: token, ViewerToken: viewerToken}
	viewer := with("Authorization", "Bearer "+viewerToken)
	tests := []struct {
		name         string
		o            admin.Options
		method, path string
		edits        []edit
		want         int
	}{
		{"loopback", open, "GET", "/api/v1/status", nil, 200},
		{"loopback by name", open, "GET", "/api/v1/status", []edit{hostIs("localhost:8081")}, 200},
		{"loopback by IPv6", open, "GET", "/api/v1/status", []edit{hostIs("[::1]:8081")}, 200},
		{"a name that was rebound", open, "GET", "/api/v1/status", []edit{hostIs("evil.example:8081")}, 403},
		{"a name that looks like loopback", open, "GET", "/api/v1/status", []edit{hostIs("127.0.0.1.evil.example")}, 403},
		{"no host", open, "GET", "/api/v1/status", []edit{hostIs("")}, 403},
		{"a probe by another name", open, "GET", "/livez", []edit{hostIs("evil.example")}, 200},
		{"order from a page elsewhere", open, "POST", order, []edit{with("Sec-Fetch-Site", "cross-site")}, 403},
		{"order from another origin", open, "POST", order, []edit{with("Origin", "http://evil.example")}, 403},
		{"order from our own page", open, "POST", order, []edit{with("Origin", "http://127.0.0.1:8081")}, 200},
		{"order as a form", open, "POST", order, []edit{with("Content-Type", "application/x-www-form-urlencoded")}, 400},
		{"order as text", open, "POST", order, []edit{with("Content-Type", "text/plain")}, 400},
		{"loopback with a token, none sent", closed, "GET", "/api/v1/status", nil, 401},
		{"metrics with a token, none sent", closed, "GET", "/metrics", nil, 401},
		{"loopback with a token, behind a proxy", closed, "GET", "/api/v1/status", []edit{bearer, hostIs("gateway.example")}, 200},
		{"loopback with a token, a name that was rebound", closed, "GET", "/api/v1/status", []edit{hostIs("evil.example")}, 401},
		{"loopback with a token", closed, "GET", "/api/v1/status", []edit{bearer}, 200},
		{"public, none sent", public, "GET", "/api/v1/status", nil, 401},
		{"public, wrong one", public, "GET", "/api/v1/status", []edit{with("Authorization", "Bearer "+token+"x")}, 401},
		{"public, other scheme", public, "GET", "/api/v1/status", []edit{with("Authorization", "Basic "+token)}, 401},
		{"public, empty", public, "GET", "/api/v1/status", []edit{with("Authorization", "Bearer ")}, 401},
		{"public, giant", public, "GET", "/api/v1/status", []edit{with("Authorization", "Bearer "+strings.Repeat("x", 5000))}, 401},
		{"public, right one", public, "GET", "/api/v1/status", []edit{bearer, hostIs("gateway.example")}, 200},
		{"public order, none sent", public, "POST", order, nil, 401},
		{"public probe", public, "GET", "/readyz", nil, 200},
		{"a balancer's probe", closed, "HEAD", "/livez", []edit{hostIs("")}, 200},
		{"a balancer's probe, ready", closed, "HEAD", "/readyz", []edit{hostIs("10.1.2.3")}, 200},
		{"a balancer's probe, without a token", open, "HEAD", "/readyz", []edit{hostIs("whittle.example:8081")}, 200},
		{"the page, which knows nothing", public, "GET", "/", nil, 404},
		{"the version, none sent", public, "GET", "/version", nil, 401},
		{"who one is, none sent", public, "GET", "/api/v1/session", nil, 200},
		{"a viewer looks", both, "GET", "/api/v1/status", []edit{viewer}, 200},
		{"a viewer's metrics", both, "GET", "/metrics", []edit{viewer}, 404},
		{"a viewer orders", both, "POST", order, []edit{viewer}, 403},
		{"an operator orders", both, "POST", order, []edit{bearer}, 200},
		{"public post on a probe", public, "POST", "/readyz", nil, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk()
			tt.o.Controller = d
			tt.o.Metrics = http.NotFoundHandler()
			w := ask(handler(t, tt.o), tt.method, tt.path, "{}", tt.edits...)
			fatal.Same(t, w.Code, tt.want, "the status with %s", w.Body)
			if tt.want != http.StatusOK && len(d.orders) > 0 {
				t.Error("the order was carried out all the same")
			}
			if tt.want == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
				t.Error("a 401 must name its scheme")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]admin.Options{
		"no port":       {Address: "127.0.0.1"},
		"all addresses": {Address: ":8081"},
		"public":        {Address: "10.0.0.1:8081"},
		"a public name": {Address: "gateway.example:8081"},
	} {
		o.Controller = newDesk()
		_, err := admin.New(o)
		if coded, ok := errors.AsType[*whittle.Error](err); !ok || coded.Code != whittle.Invalid || !strings.HasPrefix(coded.Field, "admin") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := admin.New(admin.Options{Address: "[::1]:8081"}); whittle.CodeOf(err) != whittle.Internal {
		t.Errorf("no controller: %v", err)
	}
}

func TestWhatIsPassedIn(t *testing.T) {
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	ready := false
	h := handler(t, admin.Options{
		Controller: newDesk(), Metrics: says("metrics"), Page: says("page"), Ready: func() bool { return ready }, Version: "1.2.3",
	})
	for path, want := range map[string]string{"/metrics": "metrics", "/": "page", "/app.js": "page"} {
		if w := ask(h, "GET", path, ""); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	if w := ask(h, "GET", "/version", ""); !strings.Contains(w.Body.String(), `"version": "1.2.3"`) {
		t.Errorf("version: %s", w.Body)
	}
	fatal.Same(t, ask(h, "GET", "/readyz", "").Code, http.StatusServiceUnavailable, "ready too early")
	ready = true
	fatal.Same(t, ask(h, "GET", "/readyz", "").Code, http.StatusOK, "ready in time")
	bare := handler(t, admin.Options{Controller: newDesk()})
	for _, path := range []string{"/metrics", "/", "/api/v1/config"} {
		fatal.Same(t, ask(bare, "GET", path, "").Code, http.StatusNotFound, "%s without one", path)
	}
}

// Whatever is sent as an order, it is carried out as it was written or refused
// with a code; nothing else comes of it.
func FuzzOrder(f *testing.F) {
	f.Add("promote", `{"reason":"r","force":true}`)
	f.Add("off", ``)
	f.Add("hold", `{"to_bp":70000}`)
	f.Fuzz(func(t *testing.T, verb, body string) {
		d := newDesk()
		h, err := admin.New(admin.Options{Controller: d, Address: "127.0.0.1:1"})
		fatal.If(t, err)
		w := ask(h, "POST", "/api/v1/routes/GET%20%2F/"+url.PathEscape(verb), body)
		switch w.Code {
		case http.StatusOK:
			if len(d.orders) != 1 || string(d.orders[0].Kind) != verb {
				t.Fatalf("carried out as %+v", d.orders)
			}
		case http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests, http.StatusTemporaryRedirect:
			if len(d.orders) != 0 {
				t.Fatalf("%d, and carried out as %+v", w.Code, d.orders)
			}
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// TestRoutesAreNamedInTheQueryToo: as behind a proxy that decodes a path.
func TestRoutesAreNamedInTheQueryToo(t *testing.T) {
	d := newDesk()
	h := handler(t, admin.Options{Controller: d})
	const name = "?route=POST%20%2FCount"
	for _, below := range []string{"", "/findings", "/history"} {
		by, in := ask(h, http.MethodGet, "/api/v1/routes/POST%20%2FCount"+below, ""), ask(h, http.MethodGet, "/api/v1/routes"+below+name, "")
		if in.Code != http.StatusOK || in.Body.String() != by.Body.String() {
			t.Errorf("%s: %d %s", below, in.Code, in.Body)
		}
	}
	if w := ask(h, http.MethodPost, "/api/v1/routes/hold"+name, "{}"); w.Code != http.StatusOK || len(d.names) != 1 || d.names[0] != "POST /Count" {
		t.Errorf("the order: %d %s, %v", w.Code, w.Body, d.names)
	}
}

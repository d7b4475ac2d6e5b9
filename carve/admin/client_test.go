package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// serve puts the API behind a real socket.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func dial(t *testing.T, addr, token string) *admin.Client {
	t.Helper()
	c, err := admin.Dial(addr, token)
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestClientRoundTrips(t *testing.T) {
	d := newDesk()
	c := dial(t, serve(t, handler(t, admin.Options{Controller: d, Token: token, Version: "1.2.3", Config: func() any { return 7 }})), token)
	s, err := c.Status(t.Context())
	if err != nil || s.Version != "1.2.3" || len(s.Routes) != 3 || !reflect.DeepEqual(s.Routes[0], d.routes[0]) {
		t.Errorf("status: %+v, %v", s, err)
	}
	for _, want := range d.routes {
		if got, err := c.Route(t.Context(), want.Route); err != nil || got.Route != want.Route {
			t.Errorf("%s: %+v, %v", want.Route, got, err)
		}
	}
	o := rollout.Order{Kind: rollout.Promote, Reason: "r", By: "ann", Force: true, To: 2500, Generation: 7}
	got, err := c.Order(t.Context(), "GET /", o)
	if err != nil || got.Route != "GET /" || len(d.orders) != 1 || d.orders[0] != o {
		t.Errorf("order: %+v, %v, arrived %+v", got, err, d.orders)
	}
	if raw, err := c.Config(t.Context()); err != nil || strings.TrimSpace(string(raw)) != "7" {
		t.Errorf("config: %s, %v", raw, err)
	}
}

func TestClientGivesUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	waits := func(asked chan struct{}) *admin.Client {
		return dial(t, serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(asked)
			<-release
		})), "")
	}
	// Whether it is asked at all within so little time is the machine's affair.
	c := waits(make(chan struct{}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Status(ctx); whittle.CodeOf(err) != whittle.DeadlineExceeded {
		t.Errorf("too slow: %v", err)
	}
	asked := make(chan struct{})
	c = waits(asked)
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	go func() { <-asked; cancel() }()
	if _, err := c.Status(ctx); whittle.CodeOf(err) != whittle.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

const hookKey = "aaaaaaaabbbbbbbbccccccccdddddddd"

// flagger is what Flagger's webhooks send.
const flagger = `{"name": "podinfo", "namespace": "test", "phase": "Progressing", "checksum": "85d557f47b", "metadata": {"any": "text"}}`

// TestHooks: 200 where the evidence lets the step be taken, 409 with the reason where not, and
// nothing is ordered.
func TestHooks(t *testing.T) {
	different := whittle.Verdict{State: whittle.Different, Summary: "the body differs"}
	undecided := whittle.Verdict{State: whittle.Undecided, Summary: "12 of 100 exchanges"}
	equivalent := whittle.Verdict{State: whittle.Equivalent, Summary: "no difference"}
	for _, tt := range []struct {
		is       whittle.RouteStatus
		may, not string // steps, and what is said of the others
	}{
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: equivalent, NextShare: 100}, "rise live", "there is no reason to roll back"},
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: equivalent, NextShare: 100, Withheld: "the harm budget is spent"}, "", ""},
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: equivalent}, "", ""},
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: equivalent, NextShare: 100, Held: true}, "", ""},
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: undecided, NextShare: 100, Withheld: "the verdict is UNDECIDED"}, "", "12 of 100 exchanges"},
		{whittle.RouteStatus{Phase: whittle.PhaseShadow, Verdict: different, NextShare: 100}, "rollback", "the body differs"},
		{whittle.RouteStatus{Phase: whittle.PhaseShift, Share: 500, Percent: 5, Verdict: equivalent, NextShare: 2500}, "rise", ""},
		{whittle.RouteStatus{Phase: whittle.PhaseLive, Share: whittle.All, Verdict: equivalent}, "rise live", "there is no reason to roll back"},
		{whittle.RouteStatus{Phase: whittle.PhaseLive, Share: whittle.All, Verdict: undecided}, "", "UNDECIDED"},
		{whittle.RouteStatus{Phase: whittle.PhaseRolledBack, Verdict: equivalent, NextShare: 100}, "rollback", "was rolled back"},
		{whittle.RouteStatus{Phase: whittle.PhaseOff, Verdict: equivalent}, "", ""},
	} {
		tt.is.Route = "GET /items/{id}"
		d := &desk{routes: []whittle.RouteStatus{tt.is}}
		h := handler(t, admin.Options{Controller: d, Token: token, HookKey: hookKey})
		for _, step := range []string{"rise", "live", "rollback"} {
			w := ask(h, http.MethodPost, "/hooks/"+url.PathEscape(tt.is.Route)+"/"+step+"?key="+hookKey, flagger)
			want := http.StatusConflict
			if strings.Contains(" "+tt.may+" ", " "+step+" ") {
				want = http.StatusOK
			}
			if w.Code != want || want == http.StatusConflict && !strings.Contains(w.Body.String(), tt.not) {
				t.Errorf("%s of %+v: %d %s", step, tt.is, w.Code, w.Body)
			}
			if again := ask(h, http.MethodPost, "/hooks/"+step+"?key="+hookKey+"&route="+url.QueryEscape(tt.is.Route), flagger); again.Code != want {
				t.Errorf("%s by the query: %d", step, again.Code)
			}
		}
		if d.orders != nil {
			t.Errorf("ordered: %+v", d.orders)
		}
	}
}

// TestTheHooksKeyIsGoodForHooksAlone, and a token is none.
func TestTheHooksKeyIsGoodForHooksAlone(t *testing.T) {
	const rise = "/hooks/GET%20%2F/rise"
	h := handler(t, admin.Options{Controller: newDesk(), Token: token, ViewerToken: viewerToken, HookKey: hookKey})
	for _, q := range []struct {
		method, path string
		edits        []edit
		want         int
	}{
		{"POST", rise + "?key=" + hookKey, nil, 409},
		{"POST", rise + "?key=" + hookKey, []edit{func(r *http.Request) { r.Header.Del("Content-Type") }}, 409},
		{"POST", rise, nil, 401},
		{"POST", rise + "?key=", nil, 401},
		{"POST", rise + "?key=" + token, nil, 401},
		{"POST", rise, []edit{with("Authorization", "Bearer "+token)}, 401},
		{"POST", rise + "?key=" + strings.Repeat("x", 5000), nil, 401},
		{"POST", "/hooks/GET%20%2F/promote?key=" + hookKey, nil, 404},
		{"POST", "/hooks/GET%20%2Fnone/rise?key=" + hookKey, nil, 404},
		{"GET", "/api/v1/status?key=" + hookKey, nil, 401},
		{"GET", "/api/v1/status", []edit{with("Authorization", "Bearer "+hookKey)}, 401},
		{"POST", "/api/v1/routes/GET%20%2F/rollback?key=" + hookKey, []edit{with("Authorization", "Bearer "+hookKey)}, 401},
	} {
		if w := ask(h, q.method, q.path, "{}", q.edits...); w.Code != q.want {
			t.Errorf("%s %.80s: %d %s", q.method, q.path, w.Code, w.Body)
		}
	}
	if w := ask(h, http.MethodPost, rise+"?key="+hookKey, strings.Repeat("x", 70<<10)); w.Code != http.StatusTooManyRequests {
		t.Errorf("a long body: %d", w.Code)
	}
	if w := ask(handler(t, admin.Options{Controller: newDesk()}), http.MethodPost, rise+"?key=", "{}"); w.Code != http.StatusNotFound {
		t.Errorf("without a key in the config: %d", w.Code)
	}
}

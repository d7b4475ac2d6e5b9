package dashboard_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/dashboard"
)

// order is one that the fake was given.
type order struct {
	Route, Verb string
	Reason      string        `json:"reason"`
	By          string        `json:"by"`
	Force       bool          `json:"force"`
	To          whittle.Share `json:"to_bp"`
}

// fake is the admin API over routes that a test sets.
type fake struct {
	url string

	mu      sync.Mutex // guards the following
	routes  []whittle.RouteStatus
	changed chan struct{} // closed at each change
	tokens  map[string]string
	orders  []order
	refuse  string // why orders are refused; empty: they are not
	down    bool   // every connection breaks
	slowest int    // the largest page of findings that was given
}

// serve gives the page and the fake API behind it.
func serve(t *testing.T, routes ...whittle.RouteStatus) *fake {
	t.Helper()
	f := &fake{routes: routes, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("/", dashboard.Handler())
	mux.HandleFunc("GET /api/v1/session", f.session)
	mux.HandleFunc("POST /api/v1/session", f.enter)
	mux.HandleFunc("DELETE /api/v1/session", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "s", MaxAge: -1, Path: "/"})
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /api/v1/events", f.guarded(f.events))
	mux.HandleFunc("GET /api/v1/routes/{name}", f.guarded(f.route))
	mux.HandleFunc("GET /api/v1/routes/{name}/history", f.guarded(f.past))
	mux.HandleFunc("GET /api/v1/routes/{name}/findings", f.guarded(f.findings))
	mux.HandleFunc("POST /api/v1/routes/{name}/{verb}", f.guarded(f.order))
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections) // a stream would keep it open
	f.url = srv.URL + "/"
	return f
}

// set changes the world, and tells whoever listens.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) given() []order {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.orders)
}

func (f *fake) role(r *http.Request) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens == nil {
		return "operator"
	}
	c, err := r.Cookie("s")
	if err != nil {
		return ""
	}
	return f.tokens[c.Value]
}

func (f *fake) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch role := f.role(r); {
		case role == "":
			problem(w, 401, "unauthenticated", "the token is missing or wrong")
		case role == "viewer" && r.Method != http.MethodGet:
			problem(w, 403, "permission_denied", "a viewer looks only")
		default:
			next(w, r)
		}
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}

func problem(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message, "hint": "ask the fake"})
}

func (f *fake) session(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	needs := f.tokens != nil
	f.mu.Unlock()
	reply(w, map[string]any{"role": f.role(r), "needs_token": needs})
}

func (f *fake) enter(w http.ResponseWriter, r *http.Request) {
	var body struct{ Token string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	f.mu.Lock()
	_, known := f.tokens[body.Token]
	f.mu.Unlock()
	if !known {
		problem(w, 401, "unauthenticated", "the token is missing or wrong")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "s", Value: body.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	_, _ = w.Write([]byte("retry: 1000\n\n"))
	for {
		f.mu.Lock()
		b, _ := json.Marshal(map[string]any{"version": "1.2.3", "routes": f.routes})
		changed, down := f.changed, f.down
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte("event: status\ndata: " + string(b) + "\n\n"))
		_ = to.Flush()
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			_, _ = w.Write([]byte(":\n\n"))
			_ = to.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// named finds a route, or answers that there is none.
func (f *fake) named(w http.ResponseWriter, r *http.Request) (whittle.RouteStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.routes, func(s whittle.RouteStatus) bool { return s.Route == r.PathValue("name") })
	if i < 0 {
		problem(w, 404, "not_found", "there is no such route")
		return whittle.RouteStatus{}, false
	}
	return f.routes[i], true
}

func (f *fake) route(w http.ResponseWriter, r *http.Request) {
	if s, ok := f.named(w, r); ok {
		reply(w, s)
	}
}

func (f *fake) past(w http.ResponseWriter, r *http.Request) {
	s, ok := f.named(w, r)
	switch {
	case !ok:
	case s.Ledger.Total == 0:
		reply(w, whittle.Past{Route: s.Route, Evidence: []whittle.EvidencePoint{}, Traffic: []whittle.TrafficPoint{}})
	default:
		reply(w, pastOf(s))
	}
}

func (f *fake) findings(w http.ResponseWriter, r *http.Request) {
	s, ok := f.named(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	var found []whittle.Finding
	for _, x := range s.Verdict.Findings {
		fits := (q.Get("kind") == "" || string(x.Kind) == q.Get("kind")) &&
			(q.Get("expected") == "" || q.Get("expected") == strconv.FormatBool(x.Expected != "")) &&
			strings.Contains(strings.ToLower(x.Path+" "+x.Summary), strings.ToLower(q.Get("q")))
		if fits {
			found = append(found, x)
		}
	}
	total := len(found)
	offset, _ := strconv.Atoi(q.Get("offset"))
	limit, _ := strconv.Atoi(cmp.Or(q.Get("limit"), "20"))
	found = found[min(offset, total):min(offset+limit, total)]
	f.mu.Lock()
	f.slowest = max(f.slowest, len(found))
	f.mu.Unlock()
	reply(w, map[string]any{
		"route": s.Route, "verdict": s.Verdict.State, "compared": s.Verdict.Compared, "summary": s.Verdict.Summary,
		"findings": append([]whittle.Finding{}, found...), "total": total,
	})
}

func (f *fake) order(w http.ResponseWriter, r *http.Request) {
	o := order{Route: r.PathValue("name"), Verb: r.PathValue("verb")}
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || r.Header.Get("Content-Type") != "application/json" {
		problem(w, 400, "invalid_argument", "the body is not an order")
		return
	}
	f.mu.Lock()
	refuse := f.refuse
	if refuse == "" {
		f.orders = append(f.orders, o)
	}
	f.mu.Unlock()
	if refuse != "" {
		problem(w, 409, "failed_precondition", refuse)
		return
	}
	f.set(func() {
		for i := range f.routes {
			if f.routes[i].Route == o.Route {
				f.routes[i] = obeyed(f.routes[i], o)
			}
		}
	})
	f.route(w, r)
}

// obeyed is the route after an order.
func obeyed(s whittle.RouteStatus, o order) whittle.RouteStatus {
	from := s.Share
	switch o.Verb {
	case "promote":
		s.Phase, s.Share = whittle.PhaseShift, 5000
	case "hold":
		s.Held = true
	case "resume":
		s.Held = false
	case "rollback":
		s.Phase, s.Share = whittle.PhaseRolledBack, 0
	case "off":
		s.Phase, s.Share = whittle.PhaseOff, 0
	case "reset":
		s.Phase, s.Share, s.Verdict = whittle.PhaseShadow, 0, quiet("").Verdict
	}
	s.Percent = s.Share.Percent()
	s.Timeline = append(slices.Clone(s.Timeline), whittle.Decision{At: noon, From: from, To: s.Share, Phase: s.Phase, Reason: o.Verb + ": " + o.Reason, By: o.By})
	return s
}

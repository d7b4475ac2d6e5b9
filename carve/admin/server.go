// Package admin is whittle's JSON API over read-only snapshots and a few
// orders, and the client that the verbs use. docs/operate.md describes it.
package admin

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"whittle"
	"whittle/carve/rollout"
)

// Controller is what the API shows and commands. Its errors are
// *whittle.Error; its methods may be called by several goroutines.
type Controller interface {
	Status() []whittle.RouteStatus
	Route(name string) (whittle.RouteStatus, error)
	Past(name string) (whittle.Past, error)
	Order(ctx context.Context, name string, o rollout.Order) error
}

// Options make the API's handler. Controller and Address are required.
type Options struct {
	Controller Controller
	// Address is where the handler is served, "127.0.0.1:8081". Any address
	// that is not loopback needs a Token.
	Address string
	// Token is the operator's, and it or ViewerToken is asked of every caller
	// but the probes and the page itself. Empty: nobody is asked, which only a
	// loopback address may do.
	Token string
	// ViewerToken lets its callers look and order nothing. It needs a Token.
	// Empty: there are operators only.
	ViewerToken string
	// HookKey lets its callers ask POST /hooks/ROUTE/STEP?key=KEY and nothing else. Empty:
	// there are no hooks.
	HookKey string
	// Upstreams gives the state of the servers that requests are forwarded to. Nil:
	// there are none.
	Upstreams func() []whittle.UpstreamStatus
	// Remarks are what an operator should mend. Nil: there are none.
	Remarks func() []whittle.Remark
	// Config gives the config as it is treated, fit to be shown and encoded as
	// JSON. Nil: there is none.
	Config func() any
	// Metrics answers GET /metrics. Nil: not found.
	Metrics http.Handler
	// Ready reports whether requests are being served. Nil: always.
	Ready func() bool
	// Version is what GET /version says. Empty: "unknown".
	Version string
	// Fleet shows the fleet that this gateway is of. Nil: it is alone.
	Fleet func() *whittle.FleetStatus
	// Page answers GET / and what is below it that is not the API's. Nil: not
	// found.
	Page http.Handler
	// Ending is closed when live pages are to be let go. Nil: they stay until
	// their connections end.
	Ending <-chan struct{}
	// Log gets failures that are whittle's own. Nil: discarded.
	Log *slog.Logger
}

const (
	// maxBody bounds an order's body, in bytes.
	maxBody = 16 << 10
	// maxToken bounds the token, in bytes, on both sides.
	maxToken = 4096
	// orderTime bounds an order, which waits for its place on disk.
	orderTime = 10 * time.Second
)

type server struct {
	o        Options
	loopback bool
	tokens   tokens
	sessions sessions
	wrong    *rate.Limiter
	board    board
	streams  atomic.Int64
}

// New makes the handler. The config has checked its keys; so that nobody serves without one by
// mistake, New refuses an address that others can reach, again.
func New(o Options) (http.Handler, error) {
	s := &server{o: o, tokens: tokens{operator: digest(o.Token), viewer: digest(o.ViewerToken)}, wrong: guesses()}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "admin address %q: %w", o.Address, err).WithField("admin").
			WithHint("write it as host:port, such as 127.0.0.1:8081")
	}
	s.loopback = isLoopback(host)
	if o.Token == "" && !s.loopback {
		return nil, whittle.Errorf(whittle.Invalid, "the admin address %s can be reached by others and no token is set", o.Address).WithField("admin").
			WithHint("listen on 127.0.0.1, or set a token")
	}
	if o.Controller == nil {
		return nil, whittle.Errorf(whittle.Internal, "admin: Controller is required")
	}
	s.o.Log = cmp.Or(s.o.Log, slog.New(slog.DiscardHandler))
	s.o.Version = cmp.Or(s.o.Version, "unknown")
	return s.guarded(s.routes()), nil
}

// routes is the list of everything that is answered.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	handle("GET /api/v1/status", s.status)
	for _, named := range []string{"", "/{name}"} { // else ?route= names it
		handle("GET /api/v1/routes"+named, s.route)
		handle("GET /api/v1/routes"+named+"/findings", s.findings)
		handle("GET /api/v1/routes"+named+"/history", s.history)
		handle("POST /api/v1/routes"+named+"/{verb}", s.order)
		handle("POST /hooks"+named+"/{step}", s.hook)
	}
	handle("GET /api/v1/events", s.events)
	handle("GET /api/v1/fleet", s.fleet)
	handle("GET /api/v1/session", s.session)
	handle("POST /api/v1/session", s.login)
	handle("DELETE /api/v1/session", s.logout)
	handle("GET /api/v1/config", s.config)
	handle("GET /version", s.version)
	handle("GET /livez", s.live)
	handle("GET /readyz", s.ready)
	nothing := func(_ http.ResponseWriter, r *http.Request) error {
		return whittle.Errorf(whittle.NotFound, "the API has no %s %s", r.Method, r.URL.Path).WithHint("docs/operate.md lists what there is")
	}
	handle("/api/", nothing)
	if s.o.Metrics != nil {
		mux.Handle("GET /metrics", s.o.Metrics)
	}
	if s.o.Page != nil {
		mux.Handle("/", s.o.Page)
	} else {
		handle("/", nothing)
	}
	return mux
}

// guarded asks, in this order: is the host one of ours, may a browser's page
// from elsewhere do this, is the token right.
func (s *server) guarded(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		var err error
		switch {
		case isProbe(r): // it reveals nothing, and load balancers name whatever host they like
		case s.loopback && s.o.Token == "" && !isLoopbackHost(r.Host):
			// A name that resolves to 127.0.0.1 lets any page in a browser on
			// this machine read the responses; only literal loopback names pass. A
			// page has no token, and a proxy that is asked by TLS may pass its own name.
			err = whittle.Errorf(whittle.PermissionDenied, "the host %q is not this one", r.Host).
				WithHint("ask 127.0.0.1 or localhost by that name")
		case cross.Check(r) != nil:
			err = whittle.Errorf(whittle.PermissionDenied, "a page of another site may not do this")
		case !isOpen(r):
			err = s.allowed(r)
			if whittle.CodeOf(err) == whittle.Unauthenticated {
				h.Set("WWW-Authenticate", `Bearer realm="whittle"`)
			}
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowed reports why a caller may not do what it asks for: orders are the
// operator's, everything else anybody's who is known.
func (s *server) allowed(r *http.Request) error {
	switch role := s.roleOf(r); {
	case role == Operator:
		return nil
	case role == Viewer && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return nil
	case role == Viewer:
		return whittle.Errorf(whittle.PermissionDenied, "a viewer's token gives no orders").
			WithHint("use the operator's token, that of admin.token_file")
	case !s.wrong.Allow():
		return whittle.Errorf(whittle.ResourceExhausted, "too many callers with a wrong token").WithHint("wait a few seconds")
	}
	return whittle.Errorf(whittle.Unauthenticated, "the token is missing or wrong").
		WithHint("send Authorization: Bearer TOKEN; the verbs take it from --token or WHITTLE_TOKEN")
}

// isProbe reports whether a request is an orchestrator's or a load balancer's question, to
// which the response is yes or no.
func isProbe(r *http.Request) bool {
	return (r.URL.Path == "/livez" || r.URL.Path == "/readyz") && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// isOpen lists what else is answered without knowing who asks: who one is, the hooks, and
// the page, which knows nothing by itself.
func isOpen(r *http.Request) bool {
	switch p := r.URL.Path; p {
	case "/api/v1/session":
		return true
	case "/metrics", "/version":
		return false
	default:
		if strings.HasPrefix(p, "/hooks/") { // which have a key of their own
			return r.Method == http.MethodPost
		}
		return !strings.HasPrefix(p, "/api/") && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	}
}

func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func isLoopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return isLoopback(host)
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }

package admin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
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
	if err != nil {
		t.Fatal(err)
	}
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

func TestClientKeepsErrors(t *testing.T) {
	d := newDesk()
	addr := serve(t, handler(t, admin.Options{Controller: d, Token: token}))
	c := dial(t, "http://"+addr+"/", token)
	if _, err := c.Route(t.Context(), "nothing"); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("unknown route: %v", err)
	}
	d.err = whittle.Errorf(whittle.FailedPrecondition, "no promotion: the verdict is DIFFERENT").WithHint("mend it")
	_, err := c.Order(t.Context(), "GET /", rollout.Order{Kind: rollout.Promote})
	if coded, ok := errors.AsType[*whittle.Error](err); !ok || coded.Code != whittle.FailedPrecondition || coded.Hint != "mend it" ||
		err.Error() != "no promotion: the verdict is DIFFERENT" {
		t.Errorf("refused order: %v", err)
	}
	if _, err := dial(t, addr, "").Status(t.Context()); whittle.CodeOf(err) != whittle.Unauthenticated {
		t.Errorf("no token: %v", err)
	}
}

func TestClientMeetsSomethingElse(t *testing.T) {
	responses := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	for name, h := range map[string]http.Handler{
		"a page":     responses(200, "<html>"),
		"a 404":      responses(404, "not found"),
		"other JSON": responses(500, `{"error": "x"}`),
		"a redirect": http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound),
	} {
		_, err := dial(t, serve(t, h), "").Status(t.Context())
		if whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "is not a whittle gateway's admin API") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClientMeetsNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = dial(t, addr, "").Status(t.Context())
	coded, ok := errors.AsType[*whittle.Error](err)
	if !ok || coded.Code != whittle.Unavailable || !strings.HasPrefix(err.Error(), "no gateway responds at "+addr) || strings.Contains(err.Error(), "Get ") || !strings.Contains(coded.Hint, "whittle run") {
		t.Errorf("got %v", err)
	}
}

func TestAddressNeedsAPort(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "gateway", ":99999", ":0", "127.0.0.1:0", "http://127.0.0.1:65536", "[::1]"} {
		if _, err := admin.Dial(addr, ""); whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), "has no port") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{":8081", "gateway:8081", "[::1]:8081", "http://gateway", "https://gateway/whittle"} {
		if _, err := admin.Dial(addr, ""); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
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

func TestDialRefuses(t *testing.T) {
	for _, addr := range []string{"", "ftp://127.0.0.1", "http://", "http://u:p@127.0.0.1:1", "http://127.0.0.1:1/?x=1", "a b:1"} {
		if _, err := admin.Dial(addr, ""); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", addr, err)
		}
	}
	if _, err := admin.Dial("127.0.0.1:1", "two words"); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("odd token: %v", err)
	}
	dial(t, ":8081", "")
}

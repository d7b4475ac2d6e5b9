package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
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

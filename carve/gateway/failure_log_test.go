package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

func TestComplaintsAreBounded(t *testing.T) {
	var c failureLog
	now := time.Unix(1000, 0)
	k := failureKey{route: "GET /", failure: whittle.FailedConnect}
	if more, due := c.due(k, now); !due || more != 0 {
		t.Fatal("the first failure is not logged")
	}
	for range 100 {
		if _, due := c.due(k, now.Add(logFailureEvery-1)); due {
			t.Fatal("the same failure is logged twice at once")
		}
	}
	if _, due := c.due(failureKey{route: "GET /", failure: whittle.FailedReset}, now); !due {
		t.Error("another failure is not logged")
	}
	if more, due := c.due(k, now.Add(logFailureEvery)); !due || more != 100 {
		t.Errorf("after a while: logged %v, with %d left out, want 100", due, more)
	}
	for i := range 3 * maxFailureKeys {
		c.due(failureKey{route: strings.Repeat("x", i)}, now)
	}
	if len(c.last) > maxFailureKeys {
		t.Errorf("%d kinds are kept", len(c.last))
	}
}

func TestADeadMonolithIsLogged(t *testing.T) {
	var log bytes.Buffer
	g, err := New(Options{Monolith: whittle.Upstream{URL: nobody}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	fatal.If(t, err)
	defer func() { _ = g.Close(t.Context()) }()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusBadGateway || strings.Contains(w.Body.String(), "refused") {
		t.Errorf("the client got %d %q", w.Code, w.Body)
	}
	for _, want := range []string{"side=monolith", "failure=connect", "client_got=502", "refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
}

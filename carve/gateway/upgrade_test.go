package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"whittle"
)

// What follows a request to change protocols was not checked for framing, so a
// connection on which the change did not come about is not used again.
func TestFailedUpgradeEndsTheConnection(t *testing.T) {
	g, err := New(Options{Monolith: whittle.Upstream{URL: nobody}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != http.StatusBadGateway || w.Header().Get("Connection") != "close" {
		t.Errorf("answered %d, Connection %q", w.Code, w.Header().Get("Connection"))
	}
}

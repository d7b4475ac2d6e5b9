package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/record/redact"
)

// TestLogsAreRedacted has secrets in a path and in the detail of a failure:
// neither the access log nor the log of failures has them.
func TestLogsAreRedacted(t *testing.T) {
	const token, address = "ghp_0123456789abcdefghij0123456789abcdef", "bob@example.com"
	r, err := redact.New(redact.Rules{}, redact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	var access, failures bytes.Buffer
	g, err := New(Options{
		Monolith: whittle.Upstream{URL: nobody},
		Access:   accesslog.New(slog.New(slog.NewJSONHandler(&access, nil)), accesslog.Default, 1, r), Log: slog.New(slog.NewJSONHandler(&failures, nil)), Redact: r,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	served(t, g, httptest.NewRequest(http.MethodGet, "/users/"+address+"/keys/"+token, http.NoBody)).Body.Close()
	g.logFailure(t.Context(), "GET /keys", whittle.Candidate, whittle.FailedMalform, "malformed response "+token, http.StatusBadGateway)
	for name, log := range map[string]string{"access": access.String(), "failures": failures.String()} {
		if log == "" || strings.Contains(log, token) || strings.Contains(log, address) {
			t.Errorf("%s: %s", name, log)
		}
	}
	if !strings.Contains(access.String(), `"path":"/users/redacted-`) || !strings.Contains(access.String(), "/keys/redacted-") {
		t.Errorf("the path is gone: %s", access.String())
	}
}

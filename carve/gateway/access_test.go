package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/fatal"
	"whittle/record/redact"
)

// TestLogsAreRedacted has secrets in a path and in the detail of a failure:
// neither the access log nor the log of failures has them.
func TestLogsAreRedacted(t *testing.T) {
	const token, address = "ghp_0123456789abcdefghij0123456789abcdef", "bob@example.com"
	r, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	var access, failures bytes.Buffer
	g, err := New(Options{
		Monolith: whittle.Upstream{URL: nobody},
		Access:   accesslog.New(slog.New(slog.NewJSONHandler(&access, nil)), accesslog.Default, r), Log: slog.New(slog.NewJSONHandler(&failures, nil)), Redact: r,
	})
	fatal.If(t, err)
	defer func() { _ = g.Close(t.Context()) }()
	served(t, g, httptest.NewRequest(http.MethodGet, "/users/"+address+"/keys/"+token, http.NoBody)).Body.Close()
	g.logFailure(t.Context(), "GET /keys", whittle.Candidate, whittle.FailedMalform, "malformed response "+token, http.StatusBadGateway)
	for name, log := range map[string]string{"access": access.String(), "failures": failures.String()} {
		if log == "" || strings.Contains(log, token) || strings.Contains(log, address) {
			t.Errorf("%s: %s", name, log)
		}
	}
	const key = "q7/Zk3pW9xT1/vB5nM8sD2fG6hJ4kL0qR1/wE3rT5yU7iO9pA2sD4/fG6hJ8kL0zX2cV4bN6"
	served(t, g, httptest.NewRequest(http.MethodGet, "/hooks/"+url.PathEscape("hooks.slack.com/services/T01234567/B0123456789/"+key)+"/edit", http.NoBody)).Body.Close()
	served(t, g, httptest.NewRequest(http.MethodGet, "/secrets/"+url.PathEscape("whsec_"+key)+"/edit", http.NoBody)).Body.Close()
	served(t, g, httptest.NewRequest(http.MethodGet, "/fetch/https://hooks.slack.com/services/T01234567/B0123456789/abcdefghijklmnopqrstuvwx", http.NoBody)).Body.Close()
	for _, part := range []string{key[:8], key[20:30], key[len(key)-8:], "B0123456789", "abcdefghij"} {
		if strings.Contains(access.String(), part) {
			t.Errorf("%s of a secret with slashes: %s", part, access.String())
		}
	}
	if !strings.Contains(access.String(), `"path":"/users/redacted-`) || !strings.Contains(access.String(), "/keys/redacted-") {
		t.Errorf("the path is gone: %s", access.String())
	}
}

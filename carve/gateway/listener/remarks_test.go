package listener

import (
	"bytes"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAPanicIsAnError has net/http's server itself say both kinds of remark.
func TestAPanicIsAnError(t *testing.T) {
	var said bytes.Buffer // read once the server is closed
	to := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.WriteHeader(http.StatusOK) // of which it says something, too
		panic("a fault of ours")
	}))
	s.Config.ErrorLog = log.New(remarks{to}, "", 0)
	s.Start()
	if resp, err := http.Get(s.URL); err == nil {
		resp.Body.Close()
	}
	s.Close()
	for _, want := range []string{"level=DEBUG msg=\"http: superfluous", "level=ERROR msg=\"http: panic serving"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &said)
		}
	}
}

package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestObserver sees a response's final head once, before it is sent, and its body.
func TestObserver(t *testing.T) {
	for name, serve := range map[string]func(http.ResponseWriter){
		"by head": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "x")
		},
		"by body": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			_ = http.NewResponseController(w).Flush()
		},
	} {
		heads, body := 0, ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			o := &Observer{ResponseWriter: w, Body: func(p []byte) { body += string(p) }}
			o.Head = func(status int) {
				heads += status
				w.Header().Set("X-Seen", "1")
			}
			serve(o)
		}))
		resp, err := http.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		s.Close()
		if resp.Header.Get("X-Seen") != "1" || heads != resp.StatusCode || body != "x" {
			t.Errorf("%s: %v, seen %d and %q", name, resp.Header, heads, body)
		}
	}
}

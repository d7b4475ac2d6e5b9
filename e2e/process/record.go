package process

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
)

// Record asks a monolith what n exchanges ask, and keeps them with its responses in a
// journal's folder, as whittle record does. No redirect is followed.
func Record(t testing.TB, monolith, dir string, n int, next func(i int) *capture.Entry) {
	t.Helper()
	w, err := journal.Create(dir, journal.Options{})
	fatal.If(t, err)
	client := &http.Client{
		Transport: &http.Transport{}, Timeout: Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for i := range n {
		e := next(i)
		q, err := http.NewRequestWithContext(t.Context(), e.Request.Method, monolith+e.Request.Target, bytes.NewReader(e.Request.Body))
		fatal.If(t, err)
		q.Header = http.Header(e.Request.Header)
		e.At = time.Now()
		resp, err := client.Do(q)
		fatal.If(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fatal.If(t, err)
		e.Response = whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Body: body, Latency: time.Since(e.At)}
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Close())
}

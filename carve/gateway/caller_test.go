package gateway

import (
	"io"
	"net/http"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

func TestCallerKeepsTheWriteContractAndTheRequest(t *testing.T) {
	var got http.Header
	var sent string
	srv := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		b, _ := io.ReadAll(r.Body)
		sent = r.Method + " " + r.RequestURI + " " + r.Host + " " + string(b)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}))
	spec := whittle.Route{
		Candidate: &whittle.Upstream{URL: srv + "/v2", Timeout: 10 * time.Second},
		DryRun:    &whittle.DryRunHeader{Header: "x-dry-run", Value: "yes"},
	}
	c, err := NewCaller(spec)
	fatal.If(t, err)
	defer c.Close()
	if !c.Allows("POST") || c.Harmless("POST") || !c.Harmless("GET") {
		t.Error("a dry run is allowed and not harmless; a GET is harmless")
	}
	q := &whittle.Request{
		Method: "POST", Target: "/a?b=%2f", Host: "shop.example",
		Header: whittle.Header{"X-A": {"1"}, "Connection": {"X-Hop"}, "X-Hop": {"1"}}, Body: []byte("body"),
	}
	a, err := c.Call(t.Context(), q)
	if err != nil || a.Status != http.StatusFound || a.Latency <= 0 {
		t.Fatalf("got %+v, %v; a redirect is a response", a, err)
	}
	fatal.Same(t, sent, "POST /v2/a?b=%2f shop.example body", "sent")
	if got.Get("X-Dry-Run") != "yes" || got.Get("X-A") != "1" || got["X-Hop"] != nil {
		t.Errorf("header %v", got)
	}
	fatal.Same(t, len(q.Header), 3, "the caller's own header was changed: %v", q.Header)
}

package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
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
	if sent != "POST /v2/a?b=%2f shop.example body" {
		t.Errorf("sent %q", sent)
	}
	if got.Get("X-Dry-Run") != "yes" || got.Get("X-A") != "1" || got["X-Hop"] != nil {
		t.Errorf("header %v", got)
	}
	if len(q.Header) != 3 {
		t.Errorf("the caller's own header was changed: %v", q.Header)
	}
}

func TestMatcherIsTheGateways(t *testing.T) {
	routes := []whittle.Route{
		{Name: "all", Match: whittle.Match{Pattern: "/users/{id}"}},
		{Name: "me", Match: whittle.Match{Method: "GET", Pattern: "/users/me"}},
		{Name: "beta", Match: whittle.Match{Method: "GET", Pattern: "/users/me", HeaderName: "X-Beta", HeaderValue: "1"}},
	}
	m, err := NewMatcher(routes)
	fatal.If(t, err)
	for _, c := range []struct {
		method, target string
		header         whittle.Header
		want           int
	}{
		{"GET", "/users/7?x=1", nil, 0},
		{"GET", "/users/me", nil, 1},
		{"POST", "/users/me", nil, 0},
		{"GET", "/users/me", whittle.Header{"X-Beta": {"1"}}, 2},
		{"GET", "/users/me/more", nil, -1},
		{"GET", "http://h/users/me", nil, 1},
		{"OPTIONS", "*", nil, -1},
		{"GET", "no target", nil, -1},
	} {
		if got := m.Match(&whittle.Request{Method: c.method, Target: c.target, Header: c.header}); got != c.want {
			t.Errorf("%s %s: route %d, want %d", c.method, c.target, got, c.want)
		}
	}
	if _, err := NewMatcher([]whittle.Route{{Name: "a", Match: whittle.Match{Pattern: "a"}}}); err == nil {
		t.Error("a pattern without a slash is none")
	}
}

// shouting is a transcoder whose RPC is upper case; it has no word for "bad".
type shouting struct{}

func (shouting) Request(r *whittle.Request) (*whittle.Request, error) {
	if strings.Contains(string(r.Body), "bad") {
		return nil, errors.New("no such word")
	}
	return &whittle.Request{
		Method: "POST", Target: "/rpc", Host: r.Host, Header: whittle.Header{"Content-Type": {"application/rpc"}},
		Body: []byte(strings.ToUpper(string(r.Body))),
	}, nil
}

func (shouting) Response(a *whittle.Response) whittle.Response {
	if string(a.Body) == "" {
		return whittle.Response{Failure: whittle.FailedMalform, Detail: "an empty message"}
	}
	return whittle.Response{Status: a.Status, Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.ToLower(string(a.Body)))}
}

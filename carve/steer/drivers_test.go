package steer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestCommand: it gets the share, its end with 0 confirms, and it is bounded with its children.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "share")
	c := &command{route: route, set: []string{"sh", "-c", `echo "$WHITTLE_ROUTE $WHITTLE_SHARE $WHITTLE_SHARE_BP" > "$0"`, file}}
	fatal.If(t, c.Set(t.Context(), 25))
	if b, err := os.ReadFile(file); err != nil || string(b) != route+" 0.25 25\n" {
		t.Errorf("it had %q, %v", b, err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, errUnread) {
		t.Errorf("read: %v", err)
	}
	c.read = []string{"echo", "0.25%"}
	if got, err := c.Read(t.Context()); got != 25 || err != nil {
		t.Errorf("read %d, %v", got, err)
	}
	for _, bad := range [][]string{{"echo", "half"}, {"echo", "NaN"}, {"false"}, {"/nowhere/no"}} {
		c.read = bad
		if got, err := c.Read(t.Context()); err == nil {
			t.Errorf("%q gives %d", bad, got)
		}
	}
	c.set = []string{"sh", "-c", "echo it was refused >&2; exit 3"}
	if err := c.Set(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "it was refused") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c.set = []string{"sh", "-c", "sleep 1000 & sleep 1000"}
	if err := c.Set(ctx, 0); err == nil || !strings.Contains(err.Error(), "has not ended in time") {
		t.Errorf("got %v", err)
	}
}

// api is what a Kubernetes API does with one HTTPRoute: it checks who asks, applies a patch to the
// version that it was made for, and a Gateway takes the route up.
type api struct {
	t     *testing.T
	mu    sync.Mutex // guards the following
	route map[string]any
	slow  bool // the Gateway is behind
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path != "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/shop" || r.Header.Get("Authorization") != "Bearer a-token" {
		a.t.Errorf("asked %s by %q", r.URL, r.Header.Get("Authorization"))
	}
	meta := a.route["metadata"].(map[string]any)
	if r.Method == http.MethodPatch {
		b, _ := io.ReadAll(r.Body)
		var patch []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(b, &patch); err != nil || r.Header.Get("Content-Type") != "application/json-patch+json" {
			a.t.Errorf("%s: %v", b, err)
		}
		if patch[0].Op != "test" || patch[0].Path != "/metadata/resourceVersion" || patch[0].Value != meta["resourceVersion"] {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		for _, p := range patch[1:] {
			var at any = a.route
			keys := strings.Split(p.Path[1:], "/")
			for _, key := range keys[:len(keys)-1] {
				if list, is := at.([]any); is {
					n, _ := strconv.Atoi(key)
					at = list[n]
				} else {
					at = at.(map[string]any)[key]
				}
			}
			at.(map[string]any)[keys[len(keys)-1]] = p.Value
		}
		meta["generation"] = meta["generation"].(float64) + 1
		meta["resourceVersion"] = fmt.Sprint(meta["generation"])
	}
	if !a.slow {
		a.route["status"] = map[string]any{"parents": []any{map[string]any{"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True", "observedGeneration": meta["generation"]},
		}}}}
	}
	_ = json.NewEncoder(w).Encode(a.route)
}

const httpRouteJSON = `{"metadata": {"generation": 1, "resourceVersion": "1"}, "spec": {"rules": [
	{"backendRefs": [{"name": "other"}]},
	{"backendRefs": [{"name": "monolith", "port": 3000}, {"name": "candidate", "port": 3001, "weight": 0}]},
	{"backendRefs": [{"name": "candidate", "weight": 0}, {"name": "monolith", "weight": 7}]}]}}`

// TestHTTPRoute holds the requests to the Kubernetes API, by a server that checks them.
func TestHTTPRoute(t *testing.T) {
	a := &api{t: t}
	fatal.If(t, json.Unmarshal([]byte(httpRouteJSON), &a.route))
	server := httptest.NewServer(a)
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	fatal.If(t, os.WriteFile(token, []byte("a-token\n"), 0o600))
	r := &httpRoute{whittle.SteerHTTPRoute{Namespace: "shop", Name: "shop", Candidate: "candidate", Monolith: "monolith", Server: server.URL, Token: token}}
	reads := func(want whittle.Share, trouble string) {
		t.Helper()
		got, err := r.Read(t.Context())
		if trouble == "" && (got != want || err != nil) || trouble != "" && (err == nil || !strings.Contains(err.Error(), trouble)) {
			t.Errorf("read %d, %v; want %d, %q", got, err, want, trouble)
		}
	}
	reads(0, "")
	for _, share := range []whittle.Share{500, whittle.All, 0, 2500} {
		fatal.If(t, r.Set(t.Context(), share))
		reads(share, "")
	}
	a.slow = true
	fatal.If(t, r.Set(t.Context(), 100))
	reads(0, "a Gateway has an older one")
	a.slow = false
	rules := a.route["spec"].(map[string]any)["rules"].([]any)
	rules[2].(map[string]any)["sessionPersistence"] = map[string]any{"sessionName": "s"}
	if err := r.Set(t.Context(), 500); err == nil || !strings.Contains(err.Error(), "GEP-1619") {
		t.Errorf("with sessions that stay where they are: %v", err)
	}
	if err := r.Set(t.Context(), 0); err != nil {
		t.Errorf("a fall with sessions that stay where they are: %v", err)
	}
	rules[2].(map[string]any)["backendRefs"] = []any{map[string]any{"name": "candidate", "weight": 1}, map[string]any{"name": "monolith", "weight": 1}}
	reads(0, "different weights: 0 % and 50 %")
	r.Candidate = "nobody"
	reads(0, "no rule of it has the backends")
}

package infer

import (
	"fmt"
	"testing"

	"whittle/internal/fatal"
	"whittle/record/capture"
)

// TestGroupsAreTheContractsEndpoints: what a contract would be made of groups the
// same exchanges, and what has no success, or is a file, has a group or none.
func TestGroupsAreTheContractsEndpoints(t *testing.T) {
	var log []*capture.Entry
	for i := range 30 {
		log = append(log,
			entry("GET", fmt.Sprintf("/users/%d/orders", i), "", fmt.Sprintf(`[{"id":%d,"total":1}]`, i)),
			entry("GET", fmt.Sprintf("/articles/%s-light", string(rune('a'+i%26))+string(rune('a'+i/26))), "", fmt.Sprintf(`{"title":"t%d","words":%d}`, i, i)),
			entry("GET", "/users/me", "", `{"name":"ann"}`),
			status(entry("GET", "/none", "", `{"error":1}`), 404),
		)
	}
	g, err := Group(of(log...))
	fatal.If(t, err)
	for target, want := range map[string]string{
		"/users/7/orders":        "GET /users/{user_id}/orders",
		"/users/4711/orders?a=1": "GET /users/{user_id}/orders",
		"/users/me":              "GET /users/me",
		"/articles/aa-light":     "GET /articles/{article}",
		"/articles/never-seen":   "GET /articles/{article}",
		"/none":                  "GET /none",
		"/other/aa-light":        "",
		"/users/ann/orders":      "",
		"no target":              "",
	} {
		if got := g.Of("GET", target); got != want {
			t.Errorf("GET %s is of %q, want %q", target, got, want)
		}
	}
	if got := g.Of("POST", "/users/7/orders"); got != "" {
		t.Errorf("a POST is of %q", got)
	}
	c := learn(t, Options{}, log[:120]...)
	for _, pattern := range patterns(c) {
		found := false
		for _, name := range g.byKey {
			found = found || name == pattern || name == "GET "+pattern
		}
		if !found {
			t.Errorf("the contract has %q and no group is it: %v", pattern, g.byKey)
		}
	}
}

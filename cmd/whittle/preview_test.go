package main

import (
	"testing"

	"whittle"
	"whittle/carve/config"
)

// TestCurl: the command of a preview asks for the route as it is, by the first listener
// that curl can reach.
func TestCurl(t *testing.T) {
	const header = "X-Whittle-Preview: v1.1.x"
	f := &config.File{Listen: []config.Listener{{Unix: "/run/whittle.sock"}, {Address: ":8080"}}}
	for want, m := range map[string]whittle.Match{
		`curl -i -H 'X-Whittle-Preview: v1.1.x' -X POST 'http://127.0.0.1:8080/Count'`:                  {Method: "POST", Pattern: "/Count"},
		`curl -i -H 'X-Whittle-Preview: v1.1.x' --globoff 'http://127.0.0.1:8080/items/{id}'`:           {Method: "GET", Pattern: "/items/{id}"},
		`curl -i -H 'X-Whittle-Preview: v1.1.x' 'http://127.0.0.1:8080/'`:                               {Pattern: "/{$}"},
		`curl -i -H 'X-Whittle-Preview: v1.1.x' -H 'X-Kind: it'\''s' 'http://127.0.0.1:8080/by-header'`: {Pattern: "/by-header", HeaderName: "X-Kind", HeaderValue: "it's"},
	} {
		if got := curl(f, &whittle.Route{Match: m}, header); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

package part

import (
	"testing"

	"whittle"
)

// TestAnUpdateKeepsTheDigest: what gateways must agree on is named as in earlier versions of
// the program, so that those of a fleet agree while it is updated. If this fails since a
// field was added, have it left out where it is zero (json:",omitzero").
func TestAnUpdateKeepsTheDigest(t *testing.T) {
	spec := whittle.Route{
		Match: whittle.Match{Method: "GET", Pattern: "/a/{b}"}, Candidate: &whittle.Upstream{URL: "http://candidate:80"}, Safe: true,
		Compare: whittle.Comparison{Kind: whittle.JSON}, Rollout: whittle.Rollout{Sticky: whittle.Sticky{By: "header", Name: "X-User"}},
		DryRun: &whittle.DryRunHeader{Header: "X-Dry-Run", Value: "1"},
	}
	if got, want := digestOf(whittle.Upstream{URL: "http://monolith:80"}, &spec), "35bcc873963f7212"; got != want {
		t.Errorf("%q, and it was %q", got, want)
	}
}

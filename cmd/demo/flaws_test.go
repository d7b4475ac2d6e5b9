package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
)

// A flaw counts as named by its own finding alone: not by another flaw's, not by a
// suspicion, and not by one that gives no cause where the flaw has one.
func TestAFlawIsNamedByItsOwnFinding(t *testing.T) {
	remainder := whittle.Finding{Kind: whittle.FoundWrongValue, Cause: "fits request.times rounded down to a multiple of 100,000 in 24 of 24: a remainder was dropped", Decided: true}
	for _, tc := range []struct {
		name    string
		finding whittle.Finding
		want    []string
	}{
		{"mean", whittle.Finding{Kind: whittle.FoundMean, Decided: true}, []string{publishedFlaws[0].name}},
		{"a suspected mean", whittle.Finding{Kind: whittle.FoundMean}, nil},
		{"distribution alone", whittle.Finding{Kind: whittle.FoundDistribution, Decided: true}, nil},
		{"spread alone", whittle.Finding{Kind: whittle.FoundSpread, Decided: true}, nil},
		{"remainder", remainder, []string{publishedFlaws[1].name}},
		{"a declared remainder", whittle.Finding{Kind: remainder.Kind, Cause: remainder.Cause, Decided: true, Expected: "known"}, nil},
		{"wrap", whittle.Finding{Kind: whittle.FoundWrongValue, Cause: "adding 4,294,967,296, or a multiple of it, makes 3 of 3 fit: a 32-bit total wrapped", Decided: true}, []string{publishedFlaws[2].name}},
		{"a wrong value without a cause", whittle.Finding{Kind: whittle.FoundWrongValue, Decided: true}, nil},
		{"seed", whittle.Finding{Kind: whittle.FoundRepeats, Decided: true}, []string{publishedFlaws[3].name}},
	} {
		got := slices.Collect(maps.Keys(namedFlaws(&whittle.Verdict{Findings: []whittle.Finding{tc.finding}})))
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s names %q, want %q", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct {
		flaw    *flaw
		finding whittle.Finding
		want    bool
	}{
		{&swapped, whittle.Finding{Kind: whittle.FoundBody, Cause: "a guess: the monolith gave this response to another request before", Decided: true}, true},
		{&swapped, whittle.Finding{Kind: whittle.FoundBody, Decided: true}, false},
		{&swapped, whittle.Finding{Kind: whittle.FoundHeader, Decided: true}, false},
		{&askedFirst, whittle.Finding{Kind: whittle.FoundBody, Order: whittle.AskedFirst, Decided: true}, true},
		{&askedFirst, whittle.Finding{Kind: whittle.FoundBody, Decided: true}, false},
	} {
		if got := tc.flaw.finding(&whittle.Verdict{Findings: []whittle.Finding{tc.finding}}) != nil; got != tc.want {
			t.Errorf("%+v names %q: %t, want %t", tc.finding, tc.flaw.name, got, tc.want)
		}
	}
}

// The export's config and plan are ones that whittle reads, with the shipped harm
// budget.
func TestTheExportOfTheDemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	fatal.If(t, os.WriteFile(path, fmt.Appendf(nil, exportConfig, "127.0.0.1:1", "export"), 0o600))
	c, err := config.Load(path)
	fatal.If(t, err)
	if r := &c.Routes[0]; r.Name != exportRoute || r.Rollout.Harm != 0.005 {
		t.Errorf("%q with a budget of %g", r.Name, r.Rollout.Harm)
	}
	if _, err := load.Parse("export.yml", exportUsersPlan(), plan.Source{}); err != nil {
		t.Error(err)
	}
}

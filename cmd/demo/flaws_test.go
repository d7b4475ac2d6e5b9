package main

import (
	"maps"
	"slices"
	"testing"

	"whittle"
	"whittle/internal/fatal"
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
		{"wrap", whittle.Finding{Kind: whittle.FoundWrongValue, Cause: "adding 4,294,967,296, or a multiple of it, " +
			"makes 3 of 3 fit: a 32-bit total wrapped", Decided: true}, []string{publishedFlaws[2].name}},
		{"a wrong value without a cause", whittle.Finding{Kind: whittle.FoundWrongValue, Decided: true}, nil},
		{"seed", whittle.Finding{Kind: whittle.FoundRepeats, Decided: true}, []string{publishedFlaws[3].name}},
	} {
		got := slices.Collect(maps.Keys(namedFlaws(&whittle.Verdict{Findings: []whittle.Finding{tc.finding}})))
		fatal.Same(t, got, tc.want, "%s names", tc.name)
	}
}

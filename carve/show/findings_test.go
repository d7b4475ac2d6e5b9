package show

import (
	"strings"
	"testing"

	"whittle"
)

// TestFindingsHaveEachHeadingOnce: a verdict has several bounds, and one list of them.
func TestFindingsHaveEachHeadingOnce(t *testing.T) {
	var b strings.Builder
	Findings(&b, &whittle.Verdict{
		Summary:  "UNDECIDED after 3 exchanges",
		Coverage: &whittle.Coverage{ByValue: 1},
		Bounds:   []whittle.Bound{{Summary: "0 of 3 responses differed"}, {Summary: "0 of 3 exchanges had another status"}},
	})
	want := `UNDECIDED after 3 exchanges
No difference has been seen.

What was compared: 1 field by value, 0 by form, 0 not compared

What could still differ:
  0 of 3 responses differed
  0 of 3 exchanges had another status
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestWhatEquivalentWaitsForIsSaid: of several bounds a user sees which keep the verdict
// open, and none where nothing does.
func TestWhatEquivalentWaitsForIsSaid(t *testing.T) {
	const waits = "; EQUIVALENT waits for this"
	v := whittle.Verdict{
		State: whittle.Undecided, Compared: 1369,
		Findings: []whittle.Finding{{Kind: whittle.FoundMean, Expected: "as agreed"}},
		Bounds: []whittle.Bound{
			{What: "mean", Summary: "declared", High: 9, MarginHigh: 1},
			{What: "differences", Summary: "0 of 1,369 responses differed", Inside: true},
			{What: "noise", Summary: "$.user differs", High: 0.155, MarginHigh: 0.02},
			{What: "spread", Summary: "the mean lies apart", Low: -0.3, High: 0.1, MarginLow: -0.02, MarginHigh: 0.02},
		},
	}
	show := func() string {
		var b strings.Builder
		Findings(&b, &v)
		Detail(&b, &whittle.RouteStatus{Verdict: v})
		Route(&b, &whittle.RouteStatus{Verdict: v})
		return b.String()
	}
	if got := show(); strings.Count(got, waits) != 4 || strings.Count(got, "$.user differs"+waits) != 2 || !strings.Contains(got, "  waits     on this bound: the mean lies apart\n") {
		t.Errorf("got\n%s", got)
	}
	for _, state := range []whittle.State{whittle.Equivalent, whittle.Different} {
		if v.State = state; strings.Contains(show(), "waits") {
			t.Errorf("%s waits", state)
		}
	}
}

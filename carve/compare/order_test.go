package compare

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// TestFindingsByWhatTheyTouch: what is shown comes first, then what touches the most
// requests; what is declared comes last.
func TestFindingsByWhatTheyTouch(t *testing.T) {
	list := []whittle.Finding{
		{Path: "rare", Count: 9, Decided: true, Cause: "known"},
		{Path: "suspected", Count: 900},
		{Path: "declared", Count: 2000, Decided: true, Expected: "on purpose"},
		{Path: "half", Count: 1020, Decided: true},
	}
	orderFindings(list)
	var got []string
	for _, f := range list {
		got = append(got, f.Path)
	}
	if want := "half rare suspected declared"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestASmallMeanDoesNotHideWrongValues: where half of the responses are wrong
// values, everything that is said of the mean says that they are left out of it,
// and they come first.
func TestASmallMeanDoesNotHideWrongValues(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 3, 600, comparetest.Flaws{}, func(i int, x *whittle.Exchange) {
		if i > 100 && i%2 == 0 {
			x.Candidate.Body = []byte("Counted to 7 \n")
		}
	})
	v := j.Verdict()
	if len(v.Findings) == 0 || v.Findings[0].Kind != whittle.FoundWrongValue {
		t.Errorf("first is %+v", v.Findings)
	}
	for _, f := range v.Findings {
		if f.Kind == whittle.FoundMean && !strings.Contains(f.Summary, "are left out of this as wrong values") {
			t.Errorf("%s", f.Summary)
		}
	}
	for _, b := range v.Bounds {
		if b.What == "mean" && !strings.Contains(b.Summary, " responses are left out of this as wrong values") {
			t.Errorf("%s", b.Summary)
		}
	}
	same := judgeOf(t, countRoute())
	drive(same, 3, 200, comparetest.Flaws{}, nil)
	if v := same.Verdict(); strings.Contains(v.Bounds[0].Summary, "left out") {
		t.Errorf("nothing was left out: %s", v.Bounds[0].Summary)
	}
}

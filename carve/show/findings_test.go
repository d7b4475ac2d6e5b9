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

package control

import (
	"testing"

	"whittle"
)

// TestAllThatCouldNotBeCompared: where nothing could be compared the verdict does not say how
// many more exchanges decide it, and the sentence has no power of ten in it.
func TestAllThatCouldNotBeCompared(t *testing.T) {
	e := evidence{uncompared: uncompared{Not: map[string]int64{whittle.SkipNotSafe: 7}, All: 7}}
	v := whittle.Verdict{State: whittle.Undecided, MoreNeeded: 1130, Summary: "UNDECIDED after 0 exchanges: about 1,130 more exchanges should decide"}
	e.sayUncompared(&v)
	if v.MoreNeeded != -1 || v.Summary != "UNDECIDED: none of the requests could be compared (7 not_safe), and more of their like decide nothing" {
		t.Errorf("%d %q", v.MoreNeeded, v.Summary)
	}
	v = whittle.Verdict{State: whittle.Undecided, Compared: 3, MoreNeeded: 1130, Summary: "UNDECIDED after 3 exchanges"}
	e.uncompared.All = 10
	e.sayUncompared(&v)
	if v.MoreNeeded != 1130 || v.Summary != "UNDECIDED after 3 exchanges; 70 % of the requests could not be compared (7 not_safe)" {
		t.Errorf("%d %q", v.MoreNeeded, v.Summary)
	}
}

package control

import (
	"testing"

	"whittle"
)

// TestAllThatCouldNotBeCompared: the sentence has no power of ten in it.
func TestAllThatCouldNotBeCompared(t *testing.T) {
	e := evidence{uncompared: uncompared{Not: map[string]int64{whittle.SkipNotSafe: 7}, All: 7}}
	if got := e.uncomparedWords(); got != "; 100 % of the requests could not be compared (7 not_safe)" {
		t.Errorf("%q", got)
	}
}

package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestANodesLinesAreSpreadOverItsSamples: V8 does not say which sample had which
// line, so any stretch of time has them in the proportion of the whole.
func TestANodesLinesAreSpreadOverItsSamples(t *testing.T) {
	t.Parallel()
	const samples = 100
	raw := fmt.Sprintf(`{"nodes":[{"id":1,"callFrame":{"functionName":"f","url":"/a.js","lineNumber":3},
		"positionTicks":[{"line":4,"ticks":30},{"line":8,"ticks":60},{"line":9,"ticks":-5}]}],
		"samples":[%s1],"timeDeltas":[%s10],"startTime":0,"endTime":2000}`, strings.Repeat("1,", samples-1), strings.Repeat("10,", samples-1))
	p, err := ReadV8CPU([]byte(raw), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int32]int{}
	for i, s := range p.Samples {
		if lines[s.Stack[0].Line]++; i == 49 && (lines[4] != 15 || lines[8] != 30 || lines[0] != 5) {
			t.Errorf("the first half has the lines %v", lines)
		}
	}
	if lines[4] != 30 || lines[8] != 60 || lines[0] != 10 || len(p.Samples) != samples {
		t.Errorf("%d samples have the lines %v", len(p.Samples), lines)
	}
}

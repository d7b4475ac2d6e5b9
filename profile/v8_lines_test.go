package profile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
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
	fatal.If(t, err)
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

// What whittle runs in the process while it profiles it is nobody else's: its reading of
// files while a handler waits is no synchronous call of the handler's, and the wrapper by
// which it sees an event is on nobody's stack.
func TestWhatWhittleRunsIsItsOwn(t *testing.T) {
	t.Parallel()
	const raw = `{"nodes":[
		{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,5]},
		{"id":2,"callFrame":{"functionName":"handle","url":"/a.js","lineNumber":3},"children":[3],"positionTicks":[{"line":5,"ticks":1}]},
		{"id":3,"callFrame":{"functionName":"","url":"whittle:script"},"children":[4]},
		{"id":4,"callFrame":{"functionName":"readFileSync","url":"node:fs","lineNumber":9},"positionTicks":[{"line":12,"ticks":1}]},
		{"id":5,"callFrame":{"functionName":"value","url":"whittle:script"},"children":[6],"positionTicks":[{"line":190,"ticks":1}]},
		{"id":6,"callFrame":{"functionName":"emit","url":"node:events"},"positionTicks":[{"line":7,"ticks":1}]}],
		"samples":[2,4,6,5],"timeDeltas":[10,10,10,10],"startTime":0,"endTime":50}`
	p, err := ReadV8CPU([]byte(raw), time.Time{})
	fatal.If(t, err)
	var got []string
	for _, s := range p.Samples {
		text := ""
		for _, f := range s.Stack {
			text += fmt.Sprintf("%s:%d ", p.Functions[f.Function].Name, f.Line)
		}
		got = append(got, text)
	}
	if want := []string{"handle:5 ", "(whittle):0 ", "emit:7 "}; !slices.Equal(got, want) {
		t.Errorf("stacks %q, want %q", got, want)
	}
}

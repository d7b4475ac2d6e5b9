package profile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle"
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

// The frames of a .heapprofile are bounded as those of all other forms are: a file of a few
// megabytes may have a deep stack with many leaves, each of which is a stack of its own.
func TestHeapProfilesAreBounded(t *testing.T) {
	const node = `{"callFrame":{"functionName":"f"},"selfSize":`
	leaves := strings.TrimSuffix(strings.Repeat(node+`1},`, maxFrames/MaxDepth+1), ",")
	text := strings.Repeat(node+`0,"children":[`, MaxDepth) + leaves + strings.Repeat("]}", MaxDepth)
	p, err := ReadV8Heap([]byte(`{"head":`+text+`}`), Heap, time.Time{})
	if whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("%d stacks of %d frames are read: %v", len(p.Samples), MaxDepth, err)
	}
}

// A snapshot of the heap is read as go tool pprof does; what says that its allocations are
// meant, or is of a time, is of them.
func TestWhichValuesOfTheHeapAreMeant(t *testing.T) {
	for _, c := range []struct {
		meant    string
		duration int64
		want     Kind
	}{{"", 0, Heap}, {"inuse_space", 0, Heap}, {"alloc_space", 0, Allocations}, {"", 1e9, Allocations}} {
		f := &pprof.Function{ID: 1, Name: "main.keep"}
		l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
		in := &pprof.Profile{
			DefaultSampleType: c.meant, DurationNanos: c.duration, Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
			SampleType: []*pprof.ValueType{{Type: "alloc_objects"}, {Type: "alloc_space"}, {Type: "inuse_objects"}, {Type: "inuse_space"}},
			Sample:     []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{4, 400, 1, 100}}},
		}
		var b bytes.Buffer
		fatal.If(t, in.Write(&b))
		p, err := ReadPprof(b.Bytes(), "")
		if err != nil || p.Kind != c.want || p.Total() != map[Kind]int64{Heap: 100, Allocations: 400}[c.want] {
			t.Errorf("%+v: %v, %v", c, p, err)
		}
	}
}

package profile

import (
	"bytes"
	"testing"

	pprof "github.com/google/pprof/profile"

	"whittle/internal/fatal"
)

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

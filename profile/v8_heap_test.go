package profile

import (
	"strings"
	"testing"
	"time"

	"whittle"
)

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

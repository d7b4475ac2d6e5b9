package load

import (
	"context"
	"os"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// TestAPartThatDoesNotBeginLeavesNothingOpen: a worker serves run after run, and each may
// be called off before it begins.
func TestAPartThatDoesNotBeginLeavesNothingOpen(t *testing.T) {
	needs.Linux(t, "the descriptors of event loops, from /proc")
	r, err := NewRunner(parsed(t, small), Options{Target: "http://127.0.0.1:1"})
	fatal.If(t, err)
	ctx, end := context.WithCancel(t.Context())
	end()
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		fatal.If(t, err)
		return len(all)
	}
	const times = 200
	before := open()
	for range times {
		if _, err := r.RunPart(ctx, PartStart{Start: time.Now().Add(time.Hour), OnSample: func(*Sample) {}}); err == nil {
			t.Fatal("a part whose context has ended was run")
		}
	}
	// Each loop has three, and other tests open some meanwhile.
	if after := open(); after >= before+times {
		t.Errorf("%d descriptors are open after %d parts that did not begin, %d were before", after, times, before)
	}
}

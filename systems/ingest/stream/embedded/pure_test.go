package embedded

import (
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// TestPace spares commits only while so much comes that they are
// noticed, and no lone sender waits for others who are not there.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	now := time.Unix(1_800_000_000, 0)
	var p commitPacer
	commits := func(n int, every, took time.Duration, appends int, bytes int64) {
		for range n {
			now = now.Add(every)
			p.observe(now, took, appends, bytes)
		}
	}
	want := func(what string, waiting int, budget time.Duration, appends int) {
		t.Helper()
		if got, n := p.delay(waiting); got != budget || n != appends {
			t.Errorf("%s: %v for %d appends, want %v for %d", what, got, n, budget, appends)
		}
	}
	want("nothing known", 0, 0, 0)
	commits(1000, 4*ms, ms/2, 2, 2<<10) // half a MiB a second
	want("not busy", 2, 0, 0)
	commits(1000, ms, ms/2, 4, 4<<10) // 4 MiB a second
	want("brisk", 2, ms/2, 6)
	commits(1000, ms, ms, 4, 4<<10)
	want("brisk, and the disk no faster than that", 2, 0, 0)
	commits(1000, ms, ms/2, 1, 4<<10)
	want("a lone sender", 0, ms/2, 1)
	commits(1000, ms, ms/2, 16, 16<<10)
	want("busy", 5, 3*ms/2, 21)
	commits(1000, 4*ms, 4*ms, 64, 64<<10)
	want("the disk is slower than that", 5, 0, 0)
	commits(1000, ms, ms, 1, 1<<20)
	want("a lone sender of much", 0, ms, 1)
	commits(1, time.Second, ms, 1, 1<<10)
	want("a second later", 0, 0, 0)
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"negative":       {RetainAge: -1},
		"record":         {MaxRecord: 17 << 20},
		"batch":          {MaxBatch: 65 << 20},
		"short batch":    {MaxBatch: 100},
		"short segments": {SegmentBytes: 1 << 20},
		"long segments":  {SegmentBytes: 1 << 41},
	} {
		if l, err := Open(t.TempDir(), o); whittle.CodeOf(err) != whittle.Invalid || err == nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if _, err := Open("", Options{}); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Open(t.TempDir()+"/none", Options{ReadOnly: true}); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("reading where nothing is: %v", err)
	}
}

// TestBatchGivesMemoryBack has a batch grow and be small again for a while.
func TestBatchGivesMemoryBack(t *testing.T) {
	b := newBatch()
	fill := func(bytes, times int) {
		for range times {
			r := stream.Record{Value: make([]byte, bytes)}
			r.Seal()
			b.add(&r)
			b.reset()
		}
	}
	fill(3<<20, 1)
	if cap(b.buf) < 3<<20 {
		t.Fatalf("%d bytes", cap(b.buf))
	}
	fill(1000, memoryWindow-1)
	if cap(b.buf) < 3<<20 {
		t.Errorf("%d bytes: given back too soon", cap(b.buf))
	}
	fill(1000, memoryWindow)
	if cap(b.buf) > 4*minKeptBatch {
		t.Errorf("%d bytes are kept", cap(b.buf))
	}
}

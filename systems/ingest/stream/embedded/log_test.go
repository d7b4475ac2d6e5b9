package embedded

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small makes segments and batches short, so that tests see many of them.
func small() Options {
	return Options{MaxRecord: 64 << 10, MaxBatch: 32 << 10, SegmentBytes: 256 << 10}
}

func opened(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	fatal.If(t, err)
	return l
}

// openAt closes the log when the test ends.
func openAt(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l := opened(t, dir, o)
	t.Cleanup(func() {
		if err := l.Close(context.WithoutCancel(t.Context())); err != nil { // the folder goes next
			t.Error(err)
		}
	})
	return l
}

func TestConformance(t *testing.T) {
	for name, o := range map[string]Options{"defaults": {}, "small segments": small()} {
		t.Run(name, func(t *testing.T) {
			dirs := map[stream.Stream]string{}
			open := func(t *testing.T, dir string) stream.Stream {
				t.Helper()
				l := opened(t, dir, o)
				dirs[l] = dir
				return l
			}
			streamtest.Run(t, streamtest.Suite{
				Open:   func(t *testing.T) stream.Stream { return open(t, t.TempDir()) },
				Reopen: func(t *testing.T, closed stream.Stream) stream.Stream { return open(t, dirs[closed]) },
				Read:   readAll,
			})
		})
	}
}

// readAll is a streamtest.Read.
func readAll(t testing.TB, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	var all []stream.Entry
	err := s.(*Log).Walk(t.Context(), 0, func(e *stream.Entry) error {
		e.Value = slices.Clone(e.Value)
		all = append(all, *e)
		return nil
	}, func(e *stream.CorruptError) error {
		all = append(all, stream.Entry{Record: stream.Record{Sum: 1}, Position: e.Position})
		return nil
	})
	fatal.If(t, err)
	return map[string][]stream.Entry{Partition: all}
}

// until lets a bubble's time go on.
func until(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}

// TestAppendCopy: the records' memory is the caller's again once they are copied, and
// it is told only where all of them are.
func TestAppendCopy(t *testing.T) {
	l := openAt(t, t.TempDir(), Options{MaxRecord: 1 << 10})
	records := []stream.Record{record("a", []byte("one")), record("b", []byte("two"))}
	times := 0
	for i, r := range l.AppendCopy(t.Context(), records, func() {
		times++
		for i := range records {
			clear(records[i].Value)
		}
		clear(records)
	}) {
		if r.Err != nil || r.Position != position(uint64(i)) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	fatal.Same(t, times, 1, "times told")
	if all := readAll(t, l)[Partition]; len(all) != 2 || string(all[0].Value) != "one" || string(all[1].Value) != "two" {
		t.Errorf("there are %+v", all)
	}
	for _, bad := range []stream.Record{record("long", make([]byte, 2<<10)), {Value: []byte("altered"), Sum: 1}} {
		l.AppendCopy(t.Context(), []stream.Record{record("c", []byte("three")), bad}, func() { t.Error("not all are copied") })
	}
}

// TestWrites writes long and short pieces, in memory that lies as the disk wants it
// and in other, and reads each back, in a folder that goes past the page cache for
// long ones and in one that does not.
func TestWrites(t *testing.T) {
	for name, d := range map[string]disk{"past the page cache": folder(t.TempDir()), "through it": drained{folder(t.TempDir())}} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 9))
			const size = 4 << 20
			f, err := d.Create("a", size)
			fatal.If(t, err)
			defer f.Close()
			want, memory := make([]byte, size), make([]byte, 1<<20+8)
			at := 0
			for i := 0; at < size; i++ {
				from := i % 3 // of which only 0 lies as the disk wants it
				length := min(sector*(1+r.IntN(8<<(i%9))), size-at)
				b := memory[from : from+length]
				for k := range b {
					b[k] = byte(r.Uint32())
				}
				if n, err := f.WriteAt(b, int64(at)); n != len(b) || err != nil {
					t.Fatalf("%d of %d bytes at %d: %v", n, len(b), at, err)
				}
				copy(want[at:], b)
				// A reader behind the writer has in the page cache what lies around the end.
				near := make([]byte, min(8<<10, size-max(0, at-4<<10)))
				if _, err := f.ReadAt(near, int64(max(0, at-4<<10))); err != nil || !bytes.Equal(near, want[max(0, at-4<<10):][:len(near)]) {
					t.Fatalf("what lies around %d is not what was written: %v", at, err)
				}
				at += length
			}
			fatal.If(t, f.Sync())
			got := make([]byte, size)
			again, err := d.Open("a", false)
			fatal.If(t, err)
			defer again.Close()
			if _, err := again.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("what was read is not what was written: %v", err)
			}
		})
	}
}

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
	_, err := Open("", Options{})
	whittletest.Refused(t, err, whittle.Invalid, "no folder")
	_, err = Open(t.TempDir()+"/none", Options{ReadOnly: true})
	whittletest.Refused(t, err, whittle.NotFound, "reading where nothing is")
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

package journal

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"whittle/internal/fatal"
)

// live is what the heap holds once the garbage is gone.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A hundred thousand exchanges take no more memory than a few do: a block to
// write, a block to read, and what zstd needs for itself.
func TestAHundredThousandExchangesTakeFlatMemory(t *testing.T) {
	const total, bound = 100_000, 24 << 20
	dir := t.TempDir()
	before := live()
	grown := func(doing string, n int) {
		if n%20_000 != 0 {
			return
		}
		if now := live(); now > before+bound {
			t.Fatalf("%s: %d MiB more are held after %d exchanges", doing, (now-before)>>20, n)
		}
	}
	w := create(t, dir, Options{SegmentBytes: 256 << 10})
	for i := range total {
		fatal.If(t, w.Append(exchange(i)))
		grown("writing", i)
	}
	finish(t, w)

	r, err := Open(dir)
	fatal.If(t, err)
	defer r.Close()
	n := 0
	for ; ; n++ {
		if _, err := r.Next(context.Background(), Filter{}); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		grown("reading", n)
	}
	if n != total || r.Damages() != nil {
		t.Fatalf("%d exchanges, %+v", n, r.Damages())
	}
	l, err := List(context.Background(), dir, nil)
	if err != nil || l.Entries != total || len(l.Rows) != 2 || l.Segments < 3 {
		t.Errorf("%+v, %v", l, err)
	}
	if testing.Verbose() {
		t.Logf("%d exchanges: %d MiB, %d MiB on the disk in %d segments", n, l.Unpacked>>20, l.Bytes>>20, l.Segments)
	}
}

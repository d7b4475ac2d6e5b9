package embedded

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"whittle/internal/fatal"
)

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

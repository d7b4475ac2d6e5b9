//go:build amd64 || arm64

package sidewrite

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"whittle/internal/needs"
)

const block = 4096

// aligned is memory that lies as any device wants it.
func aligned(n int) []byte {
	b := make([]byte, n+block)
	from := (block - int(uintptr(unsafe.Pointer(&b[0]))%block)) % block
	return b[from : from+n]
}

func open(t *testing.T, flags int) (string, *os.File, *Writer) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a")
	f, err := os.OpenFile(name, os.O_CREATE|flags, 0o600)
	if errors.Is(err, unix.EINVAL) {
		needs.Missing(t, "writes on the side", "set TMPDIR to a folder whose file system has direct writes, such as ext4 or XFS")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return name, f, w
}

// TestWrites writes blocks at places, and reads all of the file back.
func TestWrites(t *testing.T) {
	name, _, w := open(t, os.O_WRONLY|unix.O_DIRECT)
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 256*block)
	if err := os.Truncate(name, int64(len(want))); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		from := r.IntN(200)
		p := aligned((1 + r.IntN(50)) * block)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		if n, err := w.WriteAt(p, int64(from*block)); n != len(p) || err != nil {
			t.Fatalf("%d of %d: %v", n, len(p), err)
		}
		copy(want[from*block:], p)
	}
	if n, err := w.WriteAt(nil, 0); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file is not what was written: %v", err)
	}
}

// TestWhatCannotBeWritten is an error, and says whether anything was written.
func TestWhatCannotBeWritten(t *testing.T) {
	name, _, w := open(t, os.O_WRONLY|unix.O_DIRECT)
	if n, err := w.WriteAt(aligned(2 * block)[1:block+1], 0); n != 0 || !errors.Is(err, ErrUnsupported) {
		t.Errorf("memory that lies wrong: %d, %v", n, err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	w.slow = mostSlow
	if n, err := w.WriteAt(aligned(block), 0); n != 0 || !errors.Is(err, ErrUnsupported) {
		t.Errorf("on a file system that writes while the command is given: %d, %v", n, err)
	}
	_, _, reading := open(t, os.O_RDONLY)
	if n, err := reading.WriteAt(aligned(block), 0); n != 0 || err == nil {
		t.Errorf("open for reading: %d, %v", n, err)
	}
}

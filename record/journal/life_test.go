package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

func TestNobodyElseHasTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	w := create(t, dir, Options{})
	if _, err := Create(dir, Options{}); err == nil || whittle.CodeOf(err).ExitStatus() != 3 {
		t.Errorf("a second writer: %v", err)
	}
	finish(t, w)
	fill(t, dir, Options{}, 0, 1)
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, segmentPath(dir, 1): 0o600, filepath.Join(dir, lockName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// An opening without an entry leaves nothing behind.
func TestNoEntriesNoSegment(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, Options{})
	finish(t, w)
	if all, _ := segments(dir); len(all) != 0 {
		t.Errorf("%v", all)
	}
	if got, _ := numbers(t, dir, Filter{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// While the disk is full blocks are lost and counted; once there is space, a
// new segment goes on.
func TestAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		needs.Missing(t, "a full disk", "run it where there is /dev/full")
	}
	dir := t.TempDir()
	w := create(t, dir, Options{})
	appendAll(t, w, 0, 10)
	fatal.If(t, w.Flush())
	disk := w.seg.f
	w.seg.f = full
	appendAll(t, w, 10, 20)
	err = w.Flush()
	if !errors.Is(err, syscall.ENOSPC) || whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("full: %v", err)
	}
	disk.Close()
	fatal.Same(t, w.Lost(), 10, "lost")
	appendAll(t, w, 20, 30)
	finish(t, w)
	got, damages := numbers(t, dir, Filter{})
	if !slices.Equal(got, without(30, 10, 20)) || damages != nil {
		t.Errorf("%v, %+v", got, damages)
	}
	if all, _ := segments(dir); len(all) != 2 {
		t.Errorf("segments %v", all)
	}
}

// The folder that cannot be written to gives an error for each block, and asks
// for no memory meanwhile.
func TestAFolderThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := create(t, dir, Options{})
	fatal.If(t, os.RemoveAll(dir))
	for i := range 5 {
		appendAll(t, w, i, i+1)
		if err := w.Flush(); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "write log: open") {
			t.Fatalf("gone: %v", err)
		}
	}
	fatal.If(t, os.Mkdir(dir, 0o700))
	appendAll(t, w, 5, 8)
	finish(t, w)
	if got, _ := numbers(t, dir, Filter{}); !slices.Equal(got, []int{5, 6, 7}) || w.Lost() != 5 {
		t.Errorf("%v, %d lost", got, w.Lost())
	}
}

func TestTheOldestGoWhenThereAreTooManyBytes(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: 4 << 10, MaxBytes: 20 << 10}
	w := create(t, dir, o)
	for i := range 3000 {
		appendAll(t, w, i, i+1)
		if i%50 == 49 {
			fatal.If(t, w.Flush())
			if n := folderBytes(t, dir); n > o.MaxBytes {
				t.Fatalf("%d bytes after %d entries", n, i)
			}
		}
	}
	finish(t, w)
	got, damages := numbers(t, dir, Filter{})
	if len(got) < 200 || len(got) > 2000 || got[len(got)-1] != 2999 || !slices.IsSorted(got) || damages != nil {
		t.Errorf("%d entries from %d on, %+v", len(got), got[0], damages)
	}
	// At least one segment is kept, however small the bound.
	o.MaxBytes = 1
	finish(t, create(t, dir, o))
	if all, _ := segments(dir); len(all) != 1 {
		t.Errorf("kept %v", all)
	}
}

func folderBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	all, err := segments(dir)
	fatal.If(t, err)
	for _, s := range all {
		info, err := os.Stat(s.path)
		fatal.If(t, err)
		n += info.Size()
	}
	return n
}

// Reading while writing, as fast as both go.
func TestReadingWhileWriting(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, Options{SegmentBytes: 30_000})
	r := open(t, dir)
	const total = 20_000
	written := make(chan struct{})
	defer func() { <-written }()
	go func() {
		defer close(written)
		for i := range total {
			err := w.Append(exchange(i))
			if i%50 == 0 {
				err = errors.Join(err, w.Flush())
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := 0
	for last := false; !last && !t.Failed(); {
		select {
		case <-written: // what is read now is all that there is
			last = true
		default:
		}
		for e := range entries(t, r, Filter{}) {
			if got := int(e.At.Sub(begun) / time.Millisecond); got != n {
				t.Fatalf("entry %d at place %d", got, n)
			}
			n++
		}
	}
	if n != total || r.Damages() != nil {
		t.Errorf("%d of %d entries, %+v", n, total, r.Damages())
	}
}

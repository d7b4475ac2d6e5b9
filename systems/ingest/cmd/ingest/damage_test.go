package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// damage is one way in which a log's folder is not what it was.
type damage struct {
	name, base string
	do         func(dir string) error
	// unseen says that the folder as a whole is what some log was at some time, so that
	// only who remembers more of it can tell.
	unseen bool
	// forgotten says that all that was remembered is gone: whoever begins anew sends
	// again what was sent.
	forgotten bool
}

// damageLogs are the logs that are damaged: closed, and killed; and of the same two an
// older copy ("closed.old"), another log, and a longer one.
func damageLogs(t *testing.T) string {
	t.Helper()
	top, err := os.MkdirTemp("/dev/shm", "damage-test-") // where a sync takes no time
	if err != nil {
		top = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	fill := func(name, prefix string, n int, copies ...string) {
		l, err := embedded.Open(filepath.Join(top, name), embedded.Options{MaxRecord: 2 << 10, MaxBatch: 4 << 10, SegmentBytes: 14 << 10, Reserve: -1, ScrubRate: -1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n / 5 {
			var batch []stream.Record
			for k := range 5 {
				r := stream.Record{ID: fmt.Sprintf("%s-%d-%d", prefix, i, k), Key: fmt.Sprint("k", k), Time: damageTime, Value: bytes.Repeat([]byte(prefix), 600+7*k)}
				r.Seal()
				batch = append(batch, r)
			}
			for _, got := range l.Append(t.Context(), batch) {
				if got.Err != nil {
					t.Fatal(got.Err)
				}
			}
		}
		for _, to := range copies { // as a kill, or a backup of a log in use, leaves it, once its mark has come up to it
			eventually(t, "the end mark is up to date", func() bool {
				e, err := embedded.EndOf(filepath.Join(top, name))
				return err == nil && e.Reached == e.Next
			})
			if err := os.CopyFS(filepath.Join(top, to), os.DirFS(filepath.Join(top, name))); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	duplicate := func(from, to string) {
		if err := os.CopyFS(filepath.Join(top, to), os.DirFS(filepath.Join(top, from))); err != nil {
			t.Fatal(err)
		}
	}
	fill("closed", "a", damageOld)
	duplicate("closed", "closed.old")
	fill("closed", "b", damageRecords-damageOld)
	fill("work", "c", damageOld, "killed.old")
	fill("work", "d", damageRecords-damageOld, "killed")
	fill("other", "z", damageOld)
	fill("longer", "y", damageRecords+50)
	return top
}

// damageAll makes every damage of the campaign; the seed chooses places.
func damageAll(t *testing.T, top string, random *rand.Rand) []damage {
	t.Helper()
	var all []damage
	for _, base := range []string{"closed", "killed"} {
		segments := segmentFiles(filepath.Join(top, base))
		if len(segments) < 6 {
			t.Fatalf("%d segments", len(segments))
		}
		add := func(name string, do func(dir string) error) {
			all = append(all, damage{name: name, base: base, do: do})
		}
		add("healthy", func(string) error { return nil })
		for i := range segments {
			damageSegment(add, segments, i, filepath.Join(top, base), random)
		}
		damageEnd(add, top, base, random)
		damageFolder(add, top, base)
		all = append(all, damageUnseen(top, base)...)
	}
	return all
}

// damageSegment is what becomes of one segment.
func damageSegment(add func(string, func(string) error), segments []string, i int, base string, random *rand.Rand) {
	s := segments[i]
	info, err := os.Stat(filepath.Join(base, s))
	if err != nil {
		panic(err)
	}
	size := int(info.Size())
	on := func(what string, do func(path string) error) {
		add(fmt.Sprintf("segment %d: %s", i, what), func(dir string) error { return do(filepath.Join(dir, s)) })
	}
	on("removed", os.Remove)
	on("emptied", func(p string) error { return os.Truncate(p, 0) })
	on("zeros", func(p string) error { return overwrite(p, 0, make([]byte, size)) })
	on("label zeros", func(p string) error { return overwrite(p, 0, make([]byte, 512)) })
	on("first page zeros", func(p string) error { return overwrite(p, 0, make([]byte, 4096)) })
	on("garbage behind it", func(p string) error { return overwrite(p, size, bytes.Repeat([]byte("x"), 1024)) })
	on("a link that leads nowhere", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("nowhere", p)) })
	on("a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) })
	on("renamed", func(p string) error { return os.Rename(p, filepath.Join(filepath.Dir(p), segmentNamed(0x20+i))) })
	on("there twice", func(p string) error { return copyFile(p, filepath.Join(filepath.Dir(p), segmentNamed(0x20+i))) })
	if j := random.IntN(len(segments)); j != i {
		on(fmt.Sprint("copied over ", j), func(p string) error { return copyFile(p, filepath.Join(filepath.Dir(p), segments[j])) })
		on(fmt.Sprint("swapped with ", j), func(p string) error {
			q := filepath.Join(filepath.Dir(p), segments[j])
			return errors.Join(os.Rename(p, p+".x"), os.Rename(q, p), os.Rename(p+".x", q))
		})
	}
	for range 4 {
		at := random.IntN(size)
		on(fmt.Sprint("cut at ", at), func(p string) error { return os.Truncate(p, int64(at)) })
	}
	for range 2 {
		at := random.IntN(size/512) * 512
		on(fmt.Sprint("zeros at ", at), func(p string) error { return overwrite(p, at, make([]byte, min(1024, size-at))) })
	}
	for range 10 {
		at, bit := random.IntN(size), random.IntN(8)
		on(fmt.Sprintf("bit %d of %d flipped", bit, at), func(p string) error { return flip(p, at, bit) })
	}
}

// damageEnd is what becomes of the end mark.
func damageEnd(add func(string, func(string) error), top, base string, random *rand.Rand) {
	on := func(what string, do func(path string) error) {
		add("END "+what, func(dir string) error { return do(filepath.Join(dir, "END")) })
	}
	on("removed", os.Remove)
	on("emptied", func(p string) error { return os.Truncate(p, 0) })
	on("cut in half", func(p string) error { return os.Truncate(p, 512) })
	on("zeros", func(p string) error { return overwrite(p, 0, make([]byte, 1024)) })
	on("first half zeros", func(p string) error { return overwrite(p, 0, make([]byte, 512)) })
	on("second half zeros", func(p string) error { return overwrite(p, 512, make([]byte, 512)) })
	on("a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) })
	for _, at := range []int{0, 8, 16, 24, 32, 40, 100, 512, 520, 528, 536, 544, 552, 700} {
		bit := random.IntN(8)
		on(fmt.Sprintf("bit %d of %d flipped", bit, at), func(p string) error { return flip(p, at, bit) })
	}
	for _, from := range []string{"other", "longer", base + ".old"} {
		on("of "+from, func(p string) error { return copyFile(filepath.Join(top, from, "END"), p) })
	}
}

// damageFolder is what becomes of several files at once.
func damageFolder(add func(string, func(string) error), top, base string) {
	for n := 1; n <= 4; n++ {
		add(fmt.Sprintf("first %d removed", n), func(dir string) error { return removeAll(dir, segmentFiles(dir)[:n]...) })
		add(fmt.Sprintf("last %d removed", n), func(dir string) error { s := segmentFiles(dir); return removeAll(dir, s[len(s)-n:]...) })
	}
	add("segments removed", func(dir string) error { return removeAll(dir, segmentFiles(dir)...) })
	add("all removed", func(dir string) error { return removeAll(dir, append(segmentFiles(dir), "END", "LOCK")...) })
	add("all removed but the lock", func(dir string) error { return removeAll(dir, append(segmentFiles(dir), "END")...) })
	for _, from := range []string{"other", "longer"} {
		add("segments of "+from+" next to it", func(dir string) error {
			for _, name := range segmentFiles(filepath.Join(top, from)) {
				if err := copyNew(filepath.Join(top, from, name), filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		})
		add("segments of "+from+" over it", func(dir string) error {
			return copyFiles(filepath.Join(top, from), dir, segmentFiles(filepath.Join(top, from))...)
		})
	}
	old := filepath.Join(top, base+".old")
	for _, name := range segmentFiles(old) {
		add("older "+name, func(dir string) error { return copyFiles(old, dir, name) })
	}
	add("older segments, newer END", func(dir string) error {
		return errors.Join(removeAll(dir, segmentFiles(dir)...), copyFiles(old, dir, segmentFiles(old)...))
	})
	add("older whole over it", func(dir string) error { return copyFiles(old, dir, append(segmentFiles(old), "END")...) })
}

// damageUnseen has another log in the place of this one, or what this one was.
func damageUnseen(top, base string) (all []damage) {
	add := func(name string, do func(dir string) error) {
		all = append(all, damage{name: name, base: base, do: do, unseen: true})
	}
	replaced := func(from string) func(dir string) error {
		return func(dir string) error {
			return errors.Join(removeAll(dir, append(segmentFiles(dir), "END")...), copyFiles(filepath.Join(top, from), dir, append(segmentFiles(filepath.Join(top, from)), "END")...))
		}
	}
	old := filepath.Join(top, base+".old")
	add("another log in its place", replaced("other"))
	add("a longer one in its place", replaced("longer"))
	add("what it was in its place", replaced(base+".old"))
	add("older END, all later segments gone", func(dir string) error {
		s := segmentFiles(dir)
		return errors.Join(copyFiles(old, dir, "END"), removeAll(dir, s[len(segmentFiles(old)):]...))
	})
	return all
}

func segmentFiles(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.segment"))
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	slices.Sort(paths)
	return paths
}

func segmentNamed(n int) string { return fmt.Sprintf("%016x.segment", n) }

func overwrite(path string, at int, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, int64(at))
	return errors.Join(err, f.Close())
}

func flip(path string, at, bit int) error {
	b, err := os.ReadFile(path)
	if err != nil || at >= len(b) {
		return err
	}
	return overwrite(path, at, []byte{b[at] ^ 1<<bit})
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, b, 0o600))
}

func copyNew(from, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return copyFile(from, to)
}

func copyFiles(from, to string, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, copyFile(filepath.Join(from, name), filepath.Join(to, name)))
	}
	return errors.Join(errs...)
}

func removeAll(dir string, names ...string) error {
	var errs []error
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

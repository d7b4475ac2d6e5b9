package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"whittle/systems/ingest/stream"
)

// grown is a log in two lives with n records: what its disk held when the first one
// had ended, after half of them, and what it holds at last.
func grown(t *testing.T, n int, closed bool) (half, whole *fakeDisk) {
	t.Helper()
	whole = newFakeDisk(rand.New(rand.NewPCG(5, 5)))
	for life := range 2 {
		l, err := Open("", onFakeDisk(whole))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n / 2 {
			keep(t, l, record(fmt.Sprint(life*n/2+i), make([]byte, 3000)))
		}
		if !closed {
			whole.powerOff()
		}
		closing(t, l)
		if !closed {
			whole.lose()
		}
		if life == 0 {
			half = copied(whole)
		}
	}
	return half, whole
}

// reported is what Verify and the log of an Open say of a disk. Nothing is said of one
// that is whole.
func reported(t *testing.T, d *fakeDisk) (Report, string) {
	t.Helper()
	r, err := verify(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	o := onFakeDisk(copied(d))
	o.Log = slog.New(slog.NewTextHandler(&text, nil))
	l, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	keep(t, l, record("after", nil))
	return r, text.String()
}

// TestAnEarlierMarkPutBack: an end mark out of a backup says nothing of the end, and
// that is said, also where records are gone behind what it says.
func TestAnEarlierMarkPutBack(t *testing.T) {
	for _, closed := range []bool{true, false} {
		half, whole := grown(t, 80, closed)
		if r, log := reported(t, whole); r.End.Stale || strings.Contains(log, "older than") {
			t.Fatalf("closed %v, whole: %+v, %s", closed, r.End, log)
		}
		names := segmentsOf(whole)
		for gone := range 2 {
			d := copied(whole)
			d.seen[markName] = half.seen[markName]
			for _, name := range names[len(names)-gone:] {
				delete(d.seen, name)
			}
			if r, log := reported(t, d); !r.End.Stale || !strings.Contains(log, "end mark is older than the log") {
				t.Errorf("closed %v, %d segments gone: %+v, %s", closed, gone, r.End, log)
			}
		}
	}
}

// TestTheBeginningOfAKilledLogIsMissed, be it that a segment is gone or that its
// first batch is.
func TestTheBeginningOfAKilledLogIsMissed(t *testing.T) {
	disk := marked(t, 60, false)
	names := segmentsOf(disk)
	for name, lose := range map[string]func(*fakeDisk){
		"segment gone":    func(d *fakeDisk) { delete(d.seen, names[0]) },
		"segment empty":   func(d *fakeDisk) { d.seen[names[0]].cut(0) },
		"segment zeros":   func(d *fakeDisk) { clear(d.seen[names[0]].seen) },
		"two gone":        func(d *fakeDisk) { delete(d.seen, names[0]); delete(d.seen, names[1]) },
		"its first batch": func(d *fakeDisk) { clear(d.seen[names[0]].seen[sector : 8*sector]) },
	} {
		d := copied(disk)
		lose(d)
		if r, log := reported(t, d); r.End.MissingFirst == 0 || !strings.Contains(log, "records are missing at the beginning of the log") {
			t.Errorf("%s: %+v, %s", name, r.End, log)
		}
	}
}

// TestNoTrimIsALoss: however a log ends while its first segments are dropped, nothing
// is said to be missing.
func TestNoTrimIsALoss(t *testing.T) {
	for fuse := 1; fuse < 40; fuse++ {
		for _, power := range []bool{true, false} {
			disk := marked(t, 60, true)
			l, err := Open("", onFakeDisk(disk))
			if err != nil {
				t.Fatal(err)
			}
			disk.fuse = fuse                      // nothing has been appended, so the log leaves the disk alone
			_ = l.Trim(t.Context(), position(50)) // the power may fail meanwhile
			closing(t, l)
			if power {
				disk.lose()
			} else {
				disk.kill()
			}
			if r, err := verify(t.Context(), disk); err != nil || r.End.MissingFirst+r.End.Missing+r.Corrupt+r.Damaged != 0 {
				t.Fatalf("fuse %d: %+v, %v", fuse, r, err)
			}
		}
	}
}

// TestSegmentsOutOfTheirPlace are swapped, copied over each other and come from another
// log. Verify is not OK, Open says so, and no offset is given out that a record has.
func TestSegmentsOutOfTheirPlace(t *testing.T) {
	const n = 80
	disk, other := marked(t, n, true), marked(t, n/2, true)
	names := segmentsOf(disk)
	last := len(names) - 1
	if last < 3 {
		t.Fatalf("%d segments", len(names))
	}
	swap := func(d *fakeDisk, a, b int) { d.seen[names[a]], d.seen[names[b]] = d.seen[names[b]], d.seen[names[a]] }
	copyOf := func(d *fakeDisk, from int, name string) { d.seen[name] = copied(d).seen[names[from]] }
	for name, c := range map[string]struct {
		misplace func(*fakeDisk)
		said     string
	}{
		"neighbours swapped":     {func(d *fakeDisk) { swap(d, 1, 2) }, "out of its place"},
		"the last one swapped":   {func(d *fakeDisk) { swap(d, 1, last) }, "out of its place"},
		"copied over a later":    {func(d *fakeDisk) { copyOf(d, 1, names[2]) }, ""},
		"copied over an earlier": {func(d *fakeDisk) { copyOf(d, 2, names[1]) }, "out of its place"},
		"copied behind all":      {func(d *fakeDisk) { copyOf(d, 1, segmentName(99)) }, "out of its place"},
		"without a mark": {func(d *fakeDisk) {
			copyOf(d, 1, segmentName(99))
			delete(d.seen, markName)
		}, "out of its place"},
		"of another log": {func(d *fakeDisk) { d.seen[segmentName(99)] = other.seen[segmentsOf(other)[1]] }, "out of its place"},
		"two logs in one folder": {func(d *fakeDisk) {
			for i, s := range segmentsOf(disk) { // the longer one continues the shorter one's numbers
				delete(d.seen, s)
				d.seen[segmentName(uint64(10+i))] = disk.seen[s]
			}
			for s, f := range other.seen {
				d.seen[s] = f
			}
		}, ""},
	} {
		d := copied(disk)
		c.misplace(d)
		r, log := reported(t, d)
		if r.Corrupt+r.Damaged+r.End.Missing == 0 && len(r.End.Misplaced) == 0 && !r.End.Stale && r.End.Marked {
			t.Errorf("%s: Verify finds nothing: %+v", name, r)
		}
		if !strings.Contains(log, c.said) {
			t.Errorf("%s: Open says %q", name, log)
		}
		if name == "two logs in one folder" {
			continue
		}
		l, err := Open("", onFakeDisk(d))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Append(t.Context(), []stream.Record{record("after", nil)}); got[0].Err != nil || got[0].Position != position(n) {
			t.Errorf("%s: the next record is at %+v, and %d are known", name, got[0], n)
		}
		closing(t, l)
	}
}

// TestWhatIsBehindASegmentsEnd is zeros in every segment, or it is said.
func TestWhatIsBehindASegmentsEnd(t *testing.T) {
	disk := marked(t, 60, true)
	for _, name := range segmentsOf(disk) {
		for _, more := range []int{1, sector, 5 * sector} {
			d := copied(disk)
			f := d.seen[name]
			f.seen = append(f.seen, bytes.Repeat([]byte{7}, more)...)
			if r, err := verify(t.Context(), d); err != nil || more >= sector && r.Damaged+uint64(r.Unexplained) == 0 || r.Corrupt != 0 {
				t.Errorf("%s and %d bytes: %+v, %v", name, more, r, err)
			}
		}
	}
}

// TestALostPageIsNoTornBatch: of a killed log's last batch a sector is gone, and the
// mark says that the batch was on the disk. So its other records stay.
func TestALostPageIsNoTornBatch(t *testing.T) {
	disk := newFakeDisk(rand.New(rand.NewPCG(5, 5)))
	l, err := Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("x"), 1200)
	keep(t, l, record("0", value), record("1", value), record("2", value))
	l.markEnd(false)
	disk.powerOff()
	closing(t, l)
	disk.kill()
	clear(disk.seen[segmentsOf(disk)[0]].seen[2*sector : 3*sector])
	if r, err := verify(t.Context(), disk); err != nil || r.Records != 2 || r.Corrupt != 1 || r.Torn != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	l, err = Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	if ids := readIDs(t, l); !slices.Equal(ids, []string{"corrupt", "1", "2"}) {
		t.Errorf("read %v", ids)
	}
}

// TestAWholeLogIsSaidToBeWhole: of a log that died again and again, at any operation
// on its disk, Verify finds nothing damaged and nothing missing.
func TestAWholeLogIsSaidToBeWhole(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			disk := newFakeDisk(rand.New(rand.NewPCG(seed, 1)))
			for life := range livesPerSeed {
				if disk.fuse = 0; random.IntN(4) > 0 {
					disk.fuse = 1 + random.IntN(120)
				}
				if l, err := Open("", Options{MaxRecord: 1500, MaxBatch: 4 << 10, SegmentBytes: 16 << 10, Reserve: -1, ScrubRate: -1, disk: disk}); err == nil {
					for i := range 1 + random.IntN(40) {
						l.Append(t.Context(), []stream.Record{record(fmt.Sprint(i), make([]byte, 1+random.IntN(1300)))})
					}
					if random.IntN(3) == 0 {
						l.mu.Lock()
						offset := l.first + random.Uint64N(l.next-l.first+1)
						l.mu.Unlock()
						_ = l.Trim(t.Context(), position(offset)) // the power may fail meanwhile
					}
					closing(t, l)
				}
				if random.IntN(3) == 0 {
					disk.kill()
				} else {
					disk.lose()
				}
				r, err := verify(t.Context(), disk)
				e := &r.End
				if err != nil || r.Corrupt+r.Damaged+uint64(r.Unexplained)+e.Missing+e.MissingFirst != 0 || e.Stale || len(e.Misplaced) > 0 {
					t.Fatalf("seed %d, life %d: %+v, %v", seed, life, r, err)
				}
			}
		})
	}
}

// TestAFolderIsMadeWithItsMark: a process that is killed right behind the making of a
// log's folder has lost nothing, and Verify says so.
func TestAFolderIsMadeWithItsMark(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "dead")
	for range 2 { // the second time it is there
		if _, err := openFolder(dir, false); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(t.Context(), dir); err != nil || !r.End.Marked || r.Damaged != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// noFiles make what is no file; the system's own tests add to them.
var noFiles = map[string]func(path string) error{
	"a folder":                  func(path string) error { return os.Mkdir(path, 0o700) },
	"a link that leads nowhere": func(path string) error { return os.Symlink("nowhere", path) },
}

// TestWhatIsNoFile in the place of a log's file is told, and waited for by nobody.
func TestWhatIsNoFile(t *testing.T) {
	for name, put := range noFiles {
		for _, file := range []string{segmentName(0), segmentName(99), markName} {
			if file == markName && name == "a link that leads nowhere" {
				continue // there is no mark, then
			}
			dir := t.TempDir()
			l := openAt(t, dir, small())
			keep(t, l, record("0", nil))
			closing(t, l)
			path := filepath.Join(dir, file)
			_ = os.Remove(path) // one of them is not there
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if r, err := Verify(t.Context(), dir); err == nil || isMissingFolder(err) {
				t.Errorf("%s as %s: Verify %+v, %v", name, file, r, err)
			}
			for _, readOnly := range []bool{true, false} {
				o := small()
				o.ReadOnly = readOnly
				l, err := Open(dir, o)
				if err == nil {
					closing(t, l)
				}
				if file != markName && (err == nil || readOnly && isMissingFolder(err)) {
					t.Errorf("%s as %s: Open, read-only %v: %v", name, file, readOnly, err)
				}
			}
		}
	}
}

// TestAnEmptiedFolder: that all of a log is gone is said when a new one begins there.
func TestAnEmptiedFolder(t *testing.T) {
	for _, emptied := range []bool{false, true} {
		dir := t.TempDir()
		if emptied {
			closing(t, openAt(t, dir, small()))
			if err := os.Remove(filepath.Join(dir, markName)); err != nil {
				t.Fatal(err)
			}
		}
		var text bytes.Buffer
		o := small()
		o.Log = slog.New(slog.NewTextHandler(&text, nil))
		closing(t, openAt(t, dir, o))
		if said := strings.Contains(text.String(), "all of the log is gone"); said != emptied {
			t.Errorf("emptied %v: %s", emptied, &text)
		}
	}
}

// isMissingFolder reports what a reader takes for a folder that is not there.
func isMissingFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) }

package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// marked is a log of several segments with n records, one batch each.
func marked(t *testing.T, n int, closed bool) *fakeDisk {
	t.Helper()
	disk := newFakeDisk(rand.New(rand.NewPCG(5, 5)))
	l, err := Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		keep(t, l, record(fmt.Sprint(i), make([]byte, 3000)))
	}
	if closed {
		closing(t, l)
		return disk
	}
	disk.powerOff()
	closing(t, l)
	disk.lose()
	return disk
}

// segmentsOf returns the names of a disk's segments, in order.
func segmentsOf(d *fakeDisk) (names []string) {
	var all []string
	for name := range d.seen {
		all = append(all, name)
	}
	for _, n := range segmentNumbers(all) {
		names = append(names, segmentName(n))
	}
	return names
}

// wantMissing holds a log whose end was lost against what was in it: Verify and
// Open say how many records are missing, the others are read, and no offset is
// given out twice.
func wantMissing(t *testing.T, about string, disk *fakeDisk, n int) {
	t.Helper()
	r, err := verify(t.Context(), disk)
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(r.End.Next.Offset)
	if err != nil {
		t.Fatal(err)
	}
	reached, err := strconv.Atoi(r.End.Reached.Offset)
	if err != nil {
		t.Fatal(err)
	}
	if want := max(0, reached-left); r.End.Missing != uint64(want) || r.End.Closed && reached != n {
		t.Errorf("%s: %d of %d left, and Verify says %+v", about, left, n, r.End)
	}
	l, err := Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Stats().Missing; got != r.End.Missing {
		t.Errorf("%s: Open finds %d missing, Verify %d", about, got, r.End.Missing)
	}
	results := l.Append(t.Context(), []stream.Record{record("after", nil)})
	if want := position(uint64(max(left, reached))); results[0].Err != nil || results[0].Position != want {
		t.Errorf("%s: the next record is at %+v, want %v", about, results[0], want)
	}
	ids := readIDs(t, l)
	var want []string
	for i := range max(left, reached) {
		switch {
		case i < left:
			want = append(want, fmt.Sprint(i))
		case left > 0:
			want = append(want, "corrupt")
		}
	}
	if want = append(want, "after"); !slices.Equal(ids, want) {
		t.Errorf("%s: read %v, want %v", about, ids, want)
	}
	closing(t, l)
	again, err := verify(t.Context(), disk)
	if err != nil || again.End.Missing != 0 || left > 0 && again.Corrupt != r.End.Missing {
		t.Errorf("%s: afterwards %+v, %v", about, again, err)
	}
}

// TestTheEndOfAClosedLogIsMissed cuts a log off behind its clean close: at every
// sector of its last segment, by zeros there, by whole segments from the end on,
// and all of them.
func TestTheEndOfAClosedLogIsMissed(t *testing.T) { synctest.Test(t, missEndOfClosed) }

func missEndOfClosed(t *testing.T) {
	const n = 60
	disk := marked(t, n, true)
	names := segmentsOf(disk)
	if len(names) < 3 {
		t.Fatalf("%d segments", len(names))
	}
	if r, err := verify(t.Context(), disk); err != nil || !r.End.Closed || r.End.Missing != 0 || r.Records != n || r.Damaged != 0 {
		t.Fatalf("whole: %+v, %v", r, err)
	}
	wantMissing(t, "whole", copied(disk), n)
	last := names[len(names)-1]
	size := int64(len(disk.seen[last].seen))
	missed := 0
	for at := int64(0); at < size; at += sector {
		d := copied(disk)
		d.seen[last].cut(at)
		wantMissing(t, fmt.Sprintf("cut at %d of %d", at, size), d, n)
		d = copied(disk)
		clear(d.seen[last].seen[at:])
		r, err := verify(t.Context(), d)
		if err != nil || r.End.Missing+r.Corrupt == 0 {
			t.Errorf("zeros from %d of %d on: %+v, %v", at, size, r, err)
		}
		missed++
	}
	if missed < 10 {
		t.Errorf("%d cuts", missed)
	}
	for keep := range names {
		d := copied(disk)
		for _, name := range names[keep:] {
			delete(d.seen, name)
		}
		if r, err := verify(t.Context(), d); err != nil || r.End.Missing == 0 {
			t.Errorf("%d of %d segments: %+v, %v", keep, len(names), r.End, err)
		}
		wantMissing(t, fmt.Sprintf("%d of %d segments", keep, len(names)), d, n)
	}
	d := copied(disk)
	delete(d.seen, names[0])
	if r, err := verify(t.Context(), d); err != nil || r.End.MissingFirst == 0 || r.End.Missing != 0 {
		t.Errorf("without the first segment: %+v, %v", r.End, err)
	}
}

// TestTheEndOfAKilledLogIsMissed: of a log that was not closed the mark tells
// that whole segments are gone from its end, but for what the last mark is older
// than.
func TestTheEndOfAKilledLogIsMissed(t *testing.T) {
	const n = 60
	disk := marked(t, n, false)
	names := segmentsOf(disk)
	wantMissing(t, "whole", copied(disk), n)
	for keep := range len(names) - 1 {
		d := copied(disk)
		for _, name := range names[keep:] {
			delete(d.seen, name)
		}
		r, err := verify(t.Context(), d)
		if err != nil || r.End.Missing == 0 || r.End.Closed || !r.End.Marked {
			t.Errorf("%d of %d segments: %+v, %v", keep, len(names), r.End, err)
		}
		wantMissing(t, fmt.Sprintf("%d of %d segments", keep, len(names)), d, n)
	}
}

// TestALogWithoutAMark is one of before there were marks: nothing is missed, and
// it has a mark once it was opened.
func TestALogWithoutAMark(t *testing.T) {
	disk := marked(t, 20, true)
	delete(disk.seen, markName)
	if r, err := verify(t.Context(), disk); err != nil || r.End.Marked || r.End.Missing != 0 || r.Records != 20 {
		t.Errorf("%+v, %v", r, err)
	}
	l, err := Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := verify(t.Context(), disk); err != nil || !r.End.Marked || r.End.Closed || r.End.Reached != position(20) {
		t.Errorf("open: %+v, %v", r.End, err)
	}
	closing(t, l)
	if r, err := verify(t.Context(), disk); err != nil || !r.End.Closed || r.End.Reached != position(20) {
		t.Errorf("closed: %+v, %v", r.End, err)
	}
}

// TestATrimmedLogMissesNothing: what the retention and a trim let go of is not
// missing, nor is anything of a log that was closed empty.
func TestATrimmedLogMissesNothing(t *testing.T) {
	disk := marked(t, 60, true)
	l, err := Open("", onFakeDisk(disk))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Trim(t.Context(), position(50)); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"in use", "closed"} {
		if r, err := verify(t.Context(), disk); err != nil || r.End.Missing+r.End.MissingFirst != 0 || r.First == position(0) {
			t.Errorf("%s: %+v, %v", when, r, err)
		}
		closing(t, l)
	}
	empty := newFakeDisk(rand.New(rand.NewPCG(5, 5)))
	if l, err = Open("", onFakeDisk(empty)); err != nil {
		t.Fatal(err)
	}
	closing(t, l)
	if r, err := verify(t.Context(), empty); err != nil || !r.End.Closed || r.End.Missing != 0 {
		t.Errorf("empty: %+v, %v", r.End, err)
	}
}

// TestEveryFlippedBitOfTheMark is seen, and invents nothing that is missing.
func TestEveryFlippedBitOfTheMark(t *testing.T) {
	disk := marked(t, 20, true)
	for bit := range int64(2 * sector * 8) {
		disk.flip(markName, bit)
		r, err := verify(t.Context(), disk)
		disk.flip(markName, bit) // back again: Verify changes nothing
		if err != nil || r.Damaged != 1 || r.End.Missing != 0 || r.Records != 20 {
			t.Fatalf("bit %d: %+v, %v", bit, r, err)
		}
	}
}

// TestHalfOfTheMarkIsGone blanks each of the mark's sectors, and cuts the second
// off: what is left may be the mark before the last one, so the loss is seen even
// where records are gone with it.
func TestHalfOfTheMarkIsGone(t *testing.T) {
	disk := marked(t, 20, true)
	names := segmentsOf(disk)
	for name, lose := range map[string]func(*fakeFile){
		"first blank":  func(f *fakeFile) { clear(f.seen[:sector]) },
		"second blank": func(f *fakeFile) { clear(f.seen[sector:]) },
		"cut":          func(f *fakeFile) { f.cut(sector) },
	} {
		d := copied(disk)
		lose(d.seen[markName])
		if r, err := verify(t.Context(), d); err != nil || r.End.Damaged != 1 || r.Damaged != 1 || r.Records != 20 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		last := d.seen[names[len(names)-1]]
		last.cut(int64(len(last.seen)) - sector)
		if r, err := verify(t.Context(), d); err != nil || r.End.Damaged+r.End.Missing == 0 {
			t.Errorf("%s, and the tail: %+v, %v", name, r, err)
		}
	}
}

// TestAFolderWithoutALog is not a log that is whole.
func TestAFolderWithoutALog(t *testing.T) {
	dir := t.TempDir()
	if r, err := Verify(t.Context(), dir); whittle.CodeOf(err) != whittle.FallsShort {
		t.Errorf("%+v, %v", r, err)
	}
	closing(t, openAt(t, dir, small()))
	if r, err := Verify(t.Context(), dir); err != nil || !r.End.Closed {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTheLastSecondOfAKilledLog: the mark is no more than a second behind the
// log, so that of a log which was not closed any loss but of that second is
// seen. A log that is closed says so, whatever the second brings.
func TestTheLastSecondOfAKilledLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(5, 5)))
		l, err := Open("", onFakeDisk(disk))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 { // all of them in the first segment
			keep(t, l, record(fmt.Sprint(i), nil))
		}
		time.Sleep(markEvery + time.Millisecond)
		keep(t, l, record("in the last second", nil))
		d := copied(disk)
		for _, name := range segmentsOf(d) {
			delete(d.seen, name)
		}
		if r, err := verify(t.Context(), d); err != nil || r.End.Missing != 5 || r.End.Closed {
			t.Errorf("%+v, %v", r.End, err)
		}
		wantMissing(t, "the second before", d, 6)
		closing(t, l)
		time.Sleep(2 * markEvery)
		if r, err := verify(t.Context(), disk); err != nil || !r.End.Closed || r.End.Reached != position(6) {
			t.Errorf("closed: %+v, %v", r.End, err)
		}
	})
}

// TestSegmentsGrow: a short log takes little of the disk, and a long one has
// segments of their full length.
func TestSegmentsGrow(t *testing.T) {
	disk := newFakeDisk(rand.New(rand.NewPCG(5, 5)))
	o := onFakeDisk(disk)
	o.SegmentBytes = 256 << 10
	l, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	keep(t, l, record("first", nil))
	if s := l.Stats(); s.Bytes > 32<<10 {
		t.Errorf("a log of one record takes %d bytes", s.Bytes)
	}
	var lengths []int64
	for i := range 500 {
		keep(t, l, record(fmt.Sprint(i), make([]byte, 3000)))
		l.mu.Lock()
		if size := l.segments[len(l.segments)-1].size; len(lengths) == 0 || lengths[len(lengths)-1] != size {
			lengths = append(lengths, size)
		}
		l.mu.Unlock()
	}
	if !slices.IsSorted(lengths) || lengths[len(lengths)-1] != o.SegmentBytes || len(lengths) < 4 {
		t.Errorf("segments of %d bytes", lengths)
	}
}

// TestAMarkThatCannotBeWritten is said once, and once more when it can be.
func TestAMarkThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	l, err := Open(dir, Options{ScrubRate: -1, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	path := filepath.Join(dir, markName)
	for range 2 {
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			l.markEnd(false)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			l.markEnd(false)
		}
	}
	if fails, goes := strings.Count(said.String(), "the end mark fails"), strings.Count(said.String(), "the end mark goes on"); fails != 2 || goes != 2 {
		t.Errorf("said %d and %d times: %s", fails, goes, &said)
	}
}

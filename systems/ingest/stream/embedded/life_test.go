package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
	"whittle/whittletest"
)

// fill appends records of about a kilobyte, one batch each.
func fill(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		streamtest.Keep(t, l, record(fmt.Sprint(i), make([]byte, 1000)))
	}
}

func span(t *testing.T, l *Log) (first, next uint64) {
	t.Helper()
	first, next, err := l.Bounds()
	fatal.If(t, err)
	return first, next
}

func TestRetainsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := onFakeDisk(newFakeDisk(rand.New(rand.NewPCG(1, 0))))
		o.RetainBytes = 200 << 10
		l := openAt(t, "", o)
		fill(t, l, 0, 400)
		until(t, 3*retainEvery)
		first, next := span(t, l)
		if s := l.Stats(); s.Bytes > o.RetainBytes || s.Bytes < o.RetainBytes/2 || first == 0 || next != 400 {
			t.Errorf("%+v", s)
		}
		if got := readIDs(t, l); got[0] != fmt.Sprint(first) || len(got) != int(400-first) {
			t.Errorf("read %s and %d more, want %d", got[0], len(got)-1, first)
		}
	})
}

func TestRetainsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := onFakeDisk(newFakeDisk(rand.New(rand.NewPCG(1, 0))))
		o.RetainAge = time.Hour
		l := openAt(t, "", o)
		fill(t, l, 0, 100)
		until(t, 50*time.Minute)
		fill(t, l, 100, 200)
		if first, _ := span(t, l); first != 0 {
			t.Errorf("it begins at %d before anything is old", first)
		}
		until(t, 11*time.Minute)
		if first, _ := span(t, l); first < 50 || first > 100 {
			t.Errorf("it begins at %d; 100 records are old", first)
		}
		until(t, 100*time.Hour)
		if first, next := span(t, l); first >= next || next != 200 {
			t.Errorf("%d to %d: the last segment must tell where to go on", first, next)
		}
	})
}

func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := onFakeDisk(newFakeDisk(rand.New(rand.NewPCG(1, 0))))
		o.RetainBytes, o.Held = 64<<10, true
		l := openAt(t, "", o)
		fill(t, l, 0, 400)
		until(t, time.Minute)
		if first, _ := span(t, l); first != 0 {
			t.Errorf("it begins at %d, and nothing is drained", first)
		}
		for _, drained := range []uint64{150, 300} {
			l.Hold(drained)
			until(t, time.Minute)
			if first, _ := span(t, l); first > drained || first < drained-100 {
				t.Errorf("it begins at %d, and %d are drained", first, drained)
			}
		}
	})
}

// TestUnreadable has sectors that the disk does not give back: the reader says
// so and stays, and when it is asked again and again it calls what was there
// corrupt and goes on.
func TestUnreadable(t *testing.T) {
	disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
	o := onFakeDisk(disk)
	l := openAt(t, "", o)
	streamtest.Keep(t, l, record("a", nil), record("b", []byte(strings.Repeat("b", 3000))), record("c", nil))
	streamtest.Keep(t, l, record("d", nil))
	r, err := l.Read(0)
	fatal.If(t, err)
	defer r.Close()
	disk.unread = map[string][2]int64{segmentName(0): {2 * sector, 2*sector + 1}}
	into := make([]stream.Entry, 1)
	var got []string
	for len(got) < 4+patientReads {
		_, err := r.Next(t.Context(), into)
		switch code := whittle.CodeOf(err); {
		case err == nil:
			got = append(got, into[0].ID)
		case code == whittle.Unavailable:
			got = append(got, "error")
		default:
			got = append(got, err.Error()[:len("corrupt record at 0/1")])
		}
	}
	fatal.Same(t, got, []string{"error", "error", "error", "a", "corrupt record at 0/1", "c", "d"}, "read")
	disk.unread = nil
	fatal.Same(t, readIDs(t, l), []string{"a", "b", "c", "d"}, "the disk gives it back, and read")
}

func TestOneWriter(t *testing.T) {
	dir := t.TempDir()
	l := openAt(t, dir, small())
	if second, err := Open(dir, small()); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Fatalf("opened twice: %v, %v", second, err)
	}
	closing(t, l)
	openAt(t, dir, small())
}

// TestReadOnly follows a writer through its segments, and reads from a position that came since
// it was opened.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	w := openAt(t, dir, small())
	o := small()
	o.ReadOnly = true
	l := openAt(t, dir, o)
	if r := l.Append(t.Context(), []stream.Record{record("x", nil)}); whittle.CodeOf(r[0].Err) != whittle.FailedPrecondition {
		t.Errorf("appended: %v", r[0])
	}
	whittletest.Refused(t, l.Trim(0), whittle.FailedPrecondition, "trimmed")
	fill(t, w, 0, 10)
	late, err := l.Read(7)
	fatal.If(t, err)
	defer late.Close()
	into := make([]stream.Entry, 7)
	if n, err := late.Next(t.Context(), into[:1]); n != 1 || err != nil || into[0].Position != position(7) {
		t.Errorf("%d entries, %v at %v", n, err, into[0].Position)
	}
	_, err = l.Read(11)
	whittletest.Refused(t, err, whittle.FailedPrecondition, "behind its end")
	r, err := l.Read(0)
	fatal.If(t, err)
	defer r.Close()
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 10; i < 600; i++ {
			w.Append(t.Context(), []stream.Record{record(fmt.Sprint(i), make([]byte, 1500))})
		}
	})
	for i := 0; i < 600; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		n, err := r.Next(ctx, into)
		cancel()
		if err != nil {
			t.Fatal(i, err)
		}
		for _, e := range into[:n] {
			if e.ID != fmt.Sprint(i) || e.Position != position(uint64(i)) {
				t.Fatalf("%s at %v, want %d", e.ID, e.Position, i)
			}
			i++
		}
	}
	writing.Wait()
	fatal.If(t, w.Trim(590))
	if first, next := span(t, l); first < 300 || next != 600 {
		t.Errorf("%d to %d after the trim", first, next)
	}
	report, err := Verify(t.Context(), dir)
	if err != nil || report.Corrupt+report.Damaged != 0 || report.Records == 0 || report.Next != 600 || report.Torn != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestDamagedSegments removes and destroys whole segments: what was in them is
// named, and nothing else.
func TestDamagedSegments(t *testing.T) {
	whole := t.TempDir()
	l := openAt(t, whole, small())
	fill(t, l, 0, 600)
	closing(t, l)
	for name, harm := range map[string]func(path string) error{
		"removed":      os.Remove,
		"emptied":      func(path string) error { return os.Truncate(path, 0) },
		"cut":          func(path string) error { return os.Truncate(path, 100_001) },
		"overwritten":  func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("noise", 50_000)), 0o600) },
		"label":        func(path string) error { return overwrite(path, 0, 100) },
		"first batch":  func(path string) error { return overwrite(path, sector, 3000) },
		"many batches": func(path string) error { return overwrite(path, 50_000, 100_000) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fatal.If(t, os.CopyFS(dir, os.DirFS(whole)))
			fatal.If(t, harm(filepath.Join(dir, segmentName(1))))
			report, err := Verify(t.Context(), dir)
			fatal.If(t, err)
			l := openAt(t, dir, small())
			fill(t, l, 600, 610)
			corrupt := uint64(0)
			got := readIDs(t, l)
			for i, id := range got {
				if id == "corrupt" {
					corrupt++
				} else if id != fmt.Sprint(i) {
					t.Fatalf("%s was read at %d", id, i)
				}
			}
			if len(got) != 610 || corrupt != report.Corrupt || corrupt+report.Damaged == 0 {
				t.Errorf("%d records, %d corrupt; %+v", len(got), corrupt, report)
			}
		})
	}
}

func overwrite(path string, from, n int) error {
	b, err := os.ReadFile(path)
	if err == nil {
		copy(b[from:], strings.Repeat("!", n))
		err = os.WriteFile(path, b, 0o600)
	}
	return err
}

// TestStartsByWrongClocks: no record goes because the log was opened by a clock that is
// ahead or behind, however often, and all are as old as the log was open since.
func TestStartsByWrongClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		o := onFakeDisk(newFakeDisk(rand.New(rand.NewPCG(1, 0))))
		o.RetainAge = time.Hour
		records := 0
		for life, ahead := range []time.Duration{0, year, year, 2 * year, -year, 0, year} {
			o.now = func() time.Time { return time.Now().Add(ahead) }
			l := opened(t, "", o)
			fill(t, l, records, records+100)
			until(t, 8*time.Minute)
			fill(t, l, records+100, records+102)
			records += 102
			if first, next := span(t, l); first != 0 || next != uint64(records) {
				t.Fatalf("life %d: from %d to %d, and nothing is an hour old", life, first, next)
			}
			closing(t, l)
			until(t, 100*time.Hour) // while nobody has it open
		}
		o.now = nil
		l := openAt(t, "", o)
		fill(t, l, records, records+100)
		until(t, 62*time.Minute)
		if first, next := span(t, l); first < uint64(records)-100 || next != uint64(records+100) {
			t.Errorf("from %d to %d, where those before %d are an hour old", first, next, records)
		}
	})
}

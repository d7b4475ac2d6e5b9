package embedded

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// fill appends records of about a kilobyte, one batch each.
func fill(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		keep(t, l, record(fmt.Sprint(i), make([]byte, 1000)))
	}
}

func span(t *testing.T, l *Log) (first, next uint64) {
	t.Helper()
	parts, err := l.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, _ = offsetOf(parts[0].First)
	next, _ = offsetOf(parts[0].Next)
	return first, next
}

func TestRetainsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		o := onFakeDisk(disk)
		o.RetainBytes = 200 << 10
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
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

// TestForgetsBehindTheCommit has a system that takes its time to forget what
// was written a while ago: no append waits for that.
func TestForgetsBehindTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		disk.forget = time.Minute
		o := onFakeDisk(disk)
		o.MaxRecord, o.MaxBatch, o.SegmentBytes = 1<<20, 2<<20, 16<<20
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
		for written := 0; written < keepCached+2*forgetAtOnce; written += 500 << 10 {
			before := time.Now()
			keep(t, l, record(fmt.Sprint(written), make([]byte, 500<<10)))
			if took := time.Since(before); took > 0 {
				t.Errorf("behind %d bytes an append took %v", written, took)
			}
			until(t, 2*disk.forget)
		}
		disk.mu.Lock()
		defer disk.mu.Unlock()
		if disk.forgot < forgetAtOnce {
			t.Errorf("%d bytes were forgotten", disk.forgot)
		}
	})
}

func TestRetainsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		o := onFakeDisk(disk)
		o.RetainAge = time.Hour
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
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
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		o := onFakeDisk(disk)
		o.RetainBytes, o.Held = 64<<10, true
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
		fill(t, l, 0, 400)
		until(t, time.Minute)
		if first, _ := span(t, l); first != 0 {
			t.Errorf("it begins at %d, and nothing is drained", first)
		}
		for _, drained := range []uint64{150, 300} {
			if err := l.Hold(position(drained)); err != nil {
				t.Fatal(err)
			}
			until(t, time.Minute)
			if first, _ := span(t, l); first > drained || first < drained-100 {
				t.Errorf("it begins at %d, and %d are drained", first, drained)
			}
		}
		if err := l.Hold(stream.Position{Partition: "0", Offset: "x"}); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("held at no offset: %v", err)
		}
	})
}

func TestScrub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		o := onFakeDisk(disk)
		var (
			mu    sync.Mutex // guards the following
			named []string
		)
		o.ScrubRate, o.ScrubEvery = 16<<10, time.Hour
		o.OnCorrupt = func(e *stream.CorruptError) {
			mu.Lock()
			defer mu.Unlock()
			named = append(named, e.Position.Offset)
		}
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
		fill(t, l, 0, 100)
		until(t, time.Hour+10*time.Minute)
		whole := l.Stats().Scrub
		if whole.Passes < 2 || whole.Corrupt+whole.Damaged != 0 || whole.Bytes < 100*1000 {
			t.Errorf("%+v", whole)
		}
		damageOn(t, disk, 17)
		damageOn(t, disk, 80)
		disk.flip(segmentName(0), 8*100) // behind the label
		begun := time.Now()
		until(t, 50*time.Minute)
		for l.Stats().Scrub.Passes == whole.Passes {
			until(t, time.Second)
		}
		if got := l.Stats().Scrub; got.Corrupt != 2 || got.Damaged != 1 {
			t.Errorf("%+v", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(named, []string{"17", "80"}) {
			t.Errorf("named %v", named)
		}
		if took := time.Since(begun); took > time.Hour+time.Minute {
			t.Errorf("a pass took %v", took)
		}
	})
}

// damageOn flips a bit of a record.
func damageOn(t *testing.T, disk *fakeDisk, offset uint64) {
	t.Helper()
	for name, p := range disk.seen {
		if place, ok := placeOf(p.seen, offset); ok {
			disk.flip(name, int64(place)*8+4)
			return
		}
	}
	t.Fatalf("record %d is nowhere", offset)
}

// TestUnreadable has sectors that the disk does not give back: the reader says
// so and stays, and when it is asked again and again it calls what was there
// corrupt and goes on.
func TestUnreadable(t *testing.T) {
	disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
	o := onFakeDisk(disk)
	l, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	keep(t, l, record("a", nil), record("b", []byte(strings.Repeat("b", 3000))), record("c", nil))
	keep(t, l, record("d", nil))
	r, err := l.Read(t.Context(), position(0))
	if err != nil {
		t.Fatal(err)
	}
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
	if want := []string{"error", "error", "error", "a", "corrupt record at 0/1", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	disk.unread = nil
	if got := readIDs(t, l); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("the disk gives it back, and read %v", got)
	}
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

// TestReadOnly follows a writer through its segments.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	w := openAt(t, dir, small())
	o := small()
	o.ReadOnly = true
	l := openAt(t, dir, o)
	if r := l.Append(t.Context(), []stream.Record{record("x", nil)}); whittle.CodeOf(r[0].Err) != whittle.FailedPrecondition {
		t.Errorf("appended: %v", r[0])
	}
	if err := l.Trim(t.Context(), position(0)); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("trimmed: %v", err)
	}
	r, err := l.Read(t.Context(), position(0))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 600 {
			w.Append(t.Context(), []stream.Record{record(fmt.Sprint(i), make([]byte, 1500))})
		}
	})
	into := make([]stream.Entry, 7)
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
	if err := w.Trim(t.Context(), position(590)); err != nil {
		t.Fatal(err)
	}
	if first, next := span(t, l); first < 300 || next != 600 {
		t.Errorf("%d to %d after the trim", first, next)
	}
	report, err := Verify(t.Context(), dir)
	if err != nil || report.Corrupt+report.Damaged != 0 || report.Records == 0 || report.Next != position(600) || report.Torn != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestReadOnlyReadsWhatCameSince it was opened, from a position that its writer named.
func TestReadOnlyReadsWhatCameSince(t *testing.T) {
	dir := t.TempDir()
	w := openAt(t, dir, small())
	o := small()
	o.ReadOnly = true
	l := openAt(t, dir, o)
	fill(t, w, 0, 10)
	r, err := l.Read(t.Context(), position(7))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 1)
	if n, err := r.Next(t.Context(), into); n != 1 || err != nil || into[0].Position != position(7) {
		t.Errorf("%d entries, %v at %v", n, err, into[0].Position)
	}
	if _, err := l.Read(t.Context(), position(11)); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("behind its end: %v", err)
	}
}

// TestDamagedSegments removes and destroys whole segments: what was in them is
// named, and nothing else.
func TestDamagedSegments(t *testing.T) {
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
			l := openAt(t, dir, small())
			fill(t, l, 0, 600)
			closing(t, l)
			if err := harm(filepath.Join(dir, segmentName(1))); err != nil {
				t.Fatal(err)
			}
			report, err := Verify(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			l = openAt(t, dir, small())
			fill(t, l, 600, 700)
			corrupt := uint64(0)
			got := readIDs(t, l)
			for i, id := range got {
				if id == "corrupt" {
					corrupt++
				} else if id != fmt.Sprint(i) {
					t.Fatalf("%s was read at %d", id, i)
				}
			}
			if len(got) != 700 || corrupt != report.Corrupt || corrupt+report.Damaged == 0 {
				t.Errorf("%d records, %d corrupt; %+v", len(got), corrupt, report)
			}
		})
	}
}

func overwrite(path string, from, n int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("!", int(n))), from)
	return err
}

// TestUnexplained has bytes behind the last batch that no crash explains: they are
// kept in a file, and the log goes on.
func TestUnexplained(t *testing.T) {
	dir := t.TempDir()
	l := openAt(t, dir, small())
	fill(t, l, 0, 5)
	closing(t, l)
	f, err := os.OpenFile(filepath.Join(dir, segmentName(0)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Repeat("what is this? ", 100)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l = openAt(t, dir, small())
	fill(t, l, 5, 8)
	if got := readIDs(t, l); len(got) != 8 || slices.Contains(got, "corrupt") {
		t.Errorf("read %v", got)
	}
	if s := l.Stats(); s.Unexplained == 0 || s.Torn != 0 {
		t.Errorf("%+v", s)
	}
	aside, err := filepath.Glob(filepath.Join(dir, "*.aside"))
	if err != nil || len(aside) != 1 {
		t.Fatalf("%v, %v", aside, err)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || !strings.HasPrefix(string(b), "what is this? ") {
		t.Errorf("%.30q, %v", b, err)
	}
}

// TestCloseWithEndedContext closes with a context that has ended while the disk is
// slow: Close says so, and the log closes by itself.
func TestCloseWithEndedContext(t *testing.T) {
	l := openAt(t, t.TempDir(), small())
	fill(t, l, 0, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ctx); err != nil && whittle.CodeOf(err) != whittle.Canceled {
		t.Error(err)
	}
	closing(t, l)
	if _, err := l.Read(t.Context(), position(0)); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("read when closed: %v", err)
	}
}

func TestRefusesPositions(t *testing.T) {
	l := openAt(t, t.TempDir(), small())
	fill(t, l, 0, 3)
	for _, c := range []struct {
		at   stream.Position
		want whittle.Code
	}{
		{stream.Position{}, whittle.NotFound},
		{stream.Position{Partition: "1"}, whittle.NotFound},
		{stream.Position{Partition: "0", Offset: "-1"}, whittle.Invalid},
		{stream.Position{Partition: "0", Offset: "18446744073709551616"}, whittle.Invalid},
		{position(4), whittle.FailedPrecondition},
	} {
		if _, err := l.Read(t.Context(), c.at); whittle.CodeOf(err) != c.want || err == nil {
			t.Errorf("read %v: %v", c.at, err)
		}
		if err := l.Trim(t.Context(), c.at); whittle.CodeOf(err) != c.want || err == nil {
			t.Errorf("trim %v: %v", c.at, err)
		}
	}
	r, err := l.Read(t.Context(), position(3))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(t.Context(), nil); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("next into nothing: %v", err)
	}
}

// TestStartsByWrongClocks: no record goes because the log was opened by a clock that is
// ahead or behind, however often, and all are as old as the log was open since.
func TestStartsByWrongClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, marks := range []string{"kept", "of before it had a time", "gone"} {
		synctest.Test(t, func(t *testing.T) {
			disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
			o := onFakeDisk(disk)
			o.RetainAge = time.Hour
			records := 0
			for life, ahead := range []time.Duration{0, year, year, 2 * year, -year, 0, year} {
				if marks != "kept" && ahead > 0 {
					continue // its clock is asked, and has to be right
				}
				o.now = func() time.Time { return time.Now().Add(ahead) }
				l, err := Open("", o)
				if err != nil {
					t.Fatal(err)
				}
				fill(t, l, records, records+100)
				records += 100
				until(t, 8*time.Minute)
				if first, next := span(t, l); first != 0 || next != uint64(records) {
					t.Fatalf("marks %s, life %d: from %d to %d, and nothing is an hour old", marks, life, first, next)
				}
				closing(t, l)
				m, _, _, err := readMark(disk)
				if err != nil {
					t.Fatal(err)
				}
				switch marks {
				case "gone":
					err = disk.Remove(markName)
				case "of before it had a time":
					m.time, m.turn = 0, m.turn+2
					err = errors.Join(writeMark(disk, m), writeMark(disk, mark{turn: m.turn - 1, first: m.first, next: m.next}))
				}
				if err != nil {
					t.Fatal(err)
				}
				until(t, 100*time.Hour) // while nobody has it open
			}
			o.now = nil
			l, err := Open("", o)
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, l)
			fill(t, l, records, records+100)
			until(t, 62*time.Minute)
			if first, next := span(t, l); first < uint64(records)-100 || next != uint64(records+100) {
				t.Errorf("marks %s: from %d to %d, where those before %d are an hour old", marks, first, next, records)
			}
		})
	}
}

// TestIdleTimeIsKept: what the log was open counts where nothing came in and the
// process was killed, but for minutes.
func TestIdleTimeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		o := onFakeDisk(disk)
		o.RetainAge = 10 * time.Hour
		l, err := Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		began := l.time()
		until(t, 9*time.Hour)
		m, ok, _, err := readMark(disk)
		if idle := time.Unix(0, m.time).Sub(began); err != nil || !ok || idle < 9*time.Hour-idleMarkEvery-time.Minute {
			t.Errorf("the mark knows of %v of 9 hours, %v", idle, err)
		}
		closing(t, l)
		until(t, time.Hour)
		if l, err = Open("", o); err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
		if open := l.time().Sub(began); open < 9*time.Hour || open > 9*time.Hour+time.Minute {
			t.Errorf("opened again, its time is %v from its begin, and it was open for 9 hours", open)
		}
	})
}

// TestAge: a segment is as old as the next one's first batch, whatever a clock that
// was wrong has stamped others with.
func TestAge(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		began []time.Duration // before now
		want  time.Duration
	}{
		"the last":                      {[]time.Duration{time.Hour}, 0},
		"all right":                     {[]time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour}, 2 * time.Hour},
		"the next a year ahead":         {[]time.Duration{3 * time.Hour, -year, time.Hour}, time.Hour},
		"the next a year behind":        {[]time.Duration{3 * time.Hour, year, time.Hour}, time.Hour},
		"itself a year ahead":           {[]time.Duration{-year, 2 * time.Hour, time.Hour}, 2 * time.Hour},
		"itself a year behind":          {[]time.Duration{year, 2 * time.Hour, time.Hour}, 2 * time.Hour},
		"all behind it are years ahead": {[]time.Duration{3 * time.Hour, -year, -year}, 0},
		"all behind it are behind":      {[]time.Duration{3 * time.Hour, year, year}, 0},
	} {
		var all []*segment
		for _, d := range c.began {
			all = append(all, &segment{began: now.Add(-d).UnixNano()})
		}
		if got := age(all[0], all[1:], now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

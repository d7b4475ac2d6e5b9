package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

func record(id string, value []byte) stream.Record {
	r := stream.Record{ID: id, Key: "k", Value: value}
	r.Seal()
	return r
}

// readIDs reads all that a log holds: ids, and "corrupt" for what is.
func readIDs(t *testing.T, l *Log) (ids []string) {
	t.Helper()
	first, next := span(t, l)
	r, err := l.Read(first)
	fatal.If(t, err)
	defer r.Close()
	into := make([]stream.Entry, 3)
	for uint64(len(ids)) < next-first {
		n, err := r.Next(t.Context(), into)
		for _, e := range into[:n] {
			if want := position(first + uint64(len(ids))); e.Position != want {
				t.Fatalf("%v was read where %v is next", e.Position, want)
			}
			ids = append(ids, e.ID)
		}
		if broken, ok := errors.AsType[*stream.CorruptError](err); ok {
			if want := position(first + uint64(len(ids))); broken.Position != want {
				t.Fatalf("%v, where %v is next", err, want)
			}
			ids = append(ids, "corrupt")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func onFakeDisk(disk *fakeDisk) Options {
	return Options{MaxRecord: 4 << 10, MaxBatch: 8 << 10, SegmentBytes: 64 << 10, Reserve: -1, disk: disk}
}

// written is a log of batches of every kind, that was not closed: the last
// batch holds sectors of zeros.
func written(t testing.TB) (*fakeDisk, []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 3))
	disk := newFakeDisk(random)
	l := opened(t, "", onFakeDisk(disk))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	streamtest.Keep(t, l, record("a", noise(10)), record("b", noise(900)))
	streamtest.Keep(t, l, record("c", nil))
	streamtest.Keep(t, l, record("d", noise(30)), record("e", make([]byte, 1700)), record("f", noise(30)))
	disk.powerOff()
	closing(t, l)
	disk.lose()
	return disk, []string{"a", "b", "c", "d", "e", "f"}
}

// copied returns the same disk again.
func copied(d *fakeDisk) *fakeDisk {
	c := newFakeDisk(rand.New(rand.NewPCG(1, 1)))
	for name, p := range d.seen {
		c.seen[name] = &fakeFile{seen: slices.Clone(p.seen), kept: slices.Clone(p.kept), dirty: map[int64]bool{}}
	}
	c.kept = maps.Clone(c.seen)
	return c
}

// TestEveryFlippedBit turns one bit of each byte that a log has written, before
// it is opened after a crash. It is seen; at most the records of one batch are
// lost, each of them is named, and no other is. Of a long value every sixteenth byte
// is enough: all of them are under one checksum, which any flipped bit changes.
func TestEveryFlippedBit(t *testing.T) { synctest.Test(t, flipEveryBit) }

func flipEveryBit(t *testing.T) {
	disk, ids := written(t)
	name := segmentName(0)
	end := used(t, disk, name)
	random := rand.New(rand.NewPCG(9, 9))
	lost := map[int]int{}
	for at := range end + sector {
		if at%16 != 0 && inLongValue(disk.seen[name].seen, at) {
			continue
		}
		d := copied(disk)
		bit := random.IntN(8)
		d.flip(name, at*8+int64(bit))
		before, err := verify(t.Context(), d)
		fatal.If(t, err)
		if before.Corrupt+before.Damaged+uint64(before.Torn) == 0 {
			t.Fatalf("bit %d of byte %d was flipped and not seen: %+v", bit, at, before)
		}
		l := opened(t, "", onFakeDisk(d))
		streamtest.Keep(t, l, record("after", []byte("v")))
		got := readIDs(t, l)
		closing(t, l)
		count := 0
		for i, id := range append(slices.Clone(ids), "after") {
			switch {
			case i >= len(got) || got[i] != id && got[i] != "corrupt":
				t.Fatalf("bit %d of byte %d: read %v", bit, at, got)
			case got[i] == "corrupt":
				count++
			}
		}
		if count != int(before.Corrupt) || count > 3 {
			t.Fatalf("bit %d of byte %d: %d records were lost, %d were named: %v", bit, at, count, before.Corrupt, got)
		}
		lost[count]++
	}
	if lost[0] == 0 || lost[1] < 2*(lost[2]+lost[3]) {
		t.Errorf("bytes by how many records a flipped bit in them costs: %v", lost)
	}
}

// inLongValue reports whether a byte lies well within one of written's two long values.
func inLongValue(segment []byte, at int64) bool {
	return at > sector+256 && at < sector+768 || // noise
		allZero(segment[max(0, at-64):at+64]) && !allZero(segment[at:])
}

// TestEveryTornBatch leaves out some sectors of the last batch. It is cut off,
// and what was before it stays.
func TestEveryTornBatch(t *testing.T) {
	disk, ids := written(t)
	name := segmentName(0)
	from, end := lastBatch(t, disk, name)
	sectors := int(end-from) / sector
	for kept := range 1 << sectors {
		d := copied(disk)
		gone := 0
		for i := range sectors {
			s := d.seen[name].seen[from+int64(i)*sector:][:sector]
			if kept&(1<<i) == 0 && !allZero(s) {
				clear(s)
				gone++
			}
		}
		if gone == 0 {
			continue
		}
		l := opened(t, "", onFakeDisk(d))
		if s := l.Stats(); (s.Torn == 0) != (gone == sectorsThat(disk.seen[name].seen[from:end])) {
			t.Errorf("sectors %b: %+v", kept, s)
		}
		fatal.Same(t, readIDs(t, l), ids[:3], "sectors %b: read", kept)
		streamtest.Keep(t, l, record("after", nil))
		closing(t, l)
		l = opened(t, "", onFakeDisk(d))
		fatal.Same(t, readIDs(t, l), append(slices.Clone(ids[:3]), "after"), "sectors %b: read afterwards", kept)
		closing(t, l)
	}
}

// sectorsThat hold something.
func sectorsThat(b []byte) int { return len(b)/sector - int(blanks(b)) }

// TestFailedSyncIsNotBelieved: a sync fails, the system calls the pages clean,
// and the process dies. The next one sees the batch in the system's memory;
// once it has shown it to a reader, a loss of power must not take it away.
func TestFailedSyncIsNotBelieved(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			disk := newFakeDisk(rand.New(rand.NewPCG(seed, 0)))
			l := opened(t, "", onFakeDisk(disk))
			streamtest.Keep(t, l, record("a", nil))
			disk.mu.Lock()
			disk.failing, disk.dying = 1, true
			disk.mu.Unlock()
			r := l.Append(t.Context(), []stream.Record{record("b", make([]byte, 3000))})
			if whittle.CodeOf(r[0].Err) != whittle.Internal {
				t.Fatalf("a sync failed, and the append said %v", r[0].Err)
			}
			closing(t, l)
			disk.kill()
			disk.failing = 0
			l = opened(t, "", onFakeDisk(disk))
			shown := readIDs(t, l)
			streamtest.Keep(t, l, record("c", nil))
			disk.powerOff()
			closing(t, l)
			disk.lose()
			l = opened(t, "", onFakeDisk(disk))
			fatal.Same(t, readIDs(t, l), append(shown, "c"), "read")
			closing(t, l)
		})
	}
}

// TestSyncFails holds what the log does while the disk refuses: it responds at
// once, says why, and goes on when a new segment could be made.
func TestSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		l := openAt(t, "", onFakeDisk(disk))
		streamtest.Keep(t, l, record("a", nil))
		fail := func(p float64) {
			disk.mu.Lock()
			defer disk.mu.Unlock()
			disk.failing = p
		}
		fail(1)
		if r := l.Append(t.Context(), []stream.Record{record("b", nil)}); whittle.CodeOf(r[0].Err) != whittle.Internal {
			t.Errorf("the append whose sync failed: %v", r[0].Err)
		}
		synctest.Wait()
		if r := l.Append(t.Context(), []stream.Record{record("c", nil)}); whittle.CodeOf(r[0].Err) != whittle.Unavailable {
			t.Errorf("the append behind it: %v", r[0].Err)
		}
		if l.Capacity().Err == nil || l.Stats().Failed == nil {
			t.Error("there is room on a disk that fails")
		}
		until(t, 20*healLast)
		if l.Capacity().Err == nil {
			t.Error("it takes appends again, and the disk fails still")
		}
		fail(0)
		until(t, 2*healLast)
		streamtest.Keep(t, l, record("d", nil))
		if s := l.Stats(); s.Failed != nil || s.Failures != 1 {
			t.Errorf("%+v", s)
		}
		fatal.Same(t, readIDs(t, l), []string{"a", "d"}, "read")
	})
}

// TestDiskFull fills the disk, and frees it by a trim.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		disk.capacity = 4*64<<10 + 32<<10
		o := onFakeDisk(disk)
		o.Reserve = 16 << 10
		l := opened(t, "", o)
		kept := 0
		var refused error
		for ; refused == nil && kept < 1000; kept++ {
			refused = l.Append(t.Context(), []stream.Record{record(fmt.Sprint(kept), make([]byte, 4000))})[0].Err
		}
		kept--
		if whittle.CodeOf(refused) != whittle.ResourceExhausted || kept < 40 {
			t.Fatalf("after %d records: %v", kept, refused)
		}
		synctest.Wait()
		if r := l.Capacity(); whittle.CodeOf(r.Err) != whittle.ResourceExhausted || r.Free != 0 {
			t.Errorf("room on a full disk: %+v", r)
		}
		if free, _ := disk.Free(); free < o.Reserve {
			t.Errorf("%d bytes are left", free)
		}
		closing(t, l)
		l = opened(t, "", o) // a full disk is no reason not to open
		defer closing(t, l)
		if got := readIDs(t, l); len(got) != kept || slices.Contains(got, "corrupt") {
			t.Errorf("%d records are there of %d", len(got), kept)
		}
		if r := l.Append(t.Context(), []stream.Record{record("x", nil)}); whittle.CodeOf(r[0].Err) != whittle.ResourceExhausted {
			t.Errorf("an append on a full disk: %v", r[0].Err)
		}
		synctest.Wait()
		fatal.If(t, l.Trim(uint64(kept)))
		synctest.Wait()
		if r := l.Capacity(); r.Err != nil || r.Free < 2*64<<10 || r.Rate <= 0 {
			t.Errorf("room after the trim: %+v", r)
		}
		streamtest.Keep(t, l, record("y", nil))
	})
}

// TestClosedIsNotTorn loses a sector of the last batch of a log that was closed.
// It was acknowledged, so it is named and not cut off.
func TestClosedIsNotTorn(t *testing.T) {
	disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
	l := opened(t, "", onFakeDisk(disk))
	streamtest.Keep(t, l, record("a", nil))
	streamtest.Keep(t, l, record("b", bytes.Repeat([]byte("b"), 2000)), record("c", nil))
	closing(t, l)
	clear(disk.seen[segmentName(0)].seen[3*sector : 4*sector])
	for range 2 {
		l = opened(t, "", onFakeDisk(disk))
		fatal.Same(t, readIDs(t, l), []string{"a", "corrupt", "c"}, "read")
		closing(t, l)
	}
}

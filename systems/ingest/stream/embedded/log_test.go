package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small makes segments and batches short, so that tests see many of them.
func small() Options {
	return Options{MaxRecord: 64 << 10, MaxBatch: 32 << 10, SegmentBytes: 256 << 10, ScrubRate: -1}
}

func openAt(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.WithoutCancel(t.Context())); err != nil { // the folder goes next
			t.Error(err)
		}
	})
	return l
}

func TestConformance(t *testing.T) {
	for name, o := range map[string]Options{"defaults": {}, "small segments": small()} {
		t.Run(name, func(t *testing.T) {
			dirs := map[stream.Stream]string{}
			open := func(t *testing.T, dir string) stream.Stream {
				t.Helper()
				l, err := Open(dir, o)
				if err != nil {
					t.Fatal(err)
				}
				dirs[l] = dir
				return l
			}
			conformance.Run(t,
				func(t *testing.T) stream.Stream { return open(t, t.TempDir()) },
				conformance.Reopens(func(t *testing.T, closed stream.Stream) stream.Stream { return open(t, dirs[closed]) }),
				conformance.Damages(func(t *testing.T, s stream.Stream, at stream.Position) stream.Stream {
					damage(t, dirs[s], at)
					return s
				}))
		})
	}
}

// damage flips a bit in a record's value, in the middle of its batch.
func damage(t *testing.T, dir string, at stream.Position) {
	t.Helper()
	offset, err := strconv.ParseUint(at.Offset, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if place, ok := placeOf(b, offset); ok {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte{b[place] ^ 0x10}, int64(place)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("record %d is in none of %d segments", offset, len(names))
}

// placeOf returns where the last byte of a record is in a segment's bytes.
func placeOf(b []byte, offset uint64) (int, bool) {
	for at := sector; at < len(b); {
		f, ok := parseFrame(b[at:], headMagic)
		if !ok {
			return 0, false
		}
		if offset >= f.base && offset < f.next() {
			table := b[at+frameLen+int(f.length):]
			place := at + frameLen
			for i := range offset - f.base + 1 {
				place += int(le.Uint32(table[entryLen*i:]))
			}
			return place - 1, true
		}
		at += int(f.size())
	}
	return 0, false
}

func codeName(err error) string { return whittle.CodeOf(err).String() }

// until lets a bubble's time go on.
func until(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}

// TestAppendCopy: the records' memory is the caller's again once they are copied, and
// it is told only where all of them are.
func TestAppendCopy(t *testing.T) {
	l, err := Open(t.TempDir(), Options{MaxRecord: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	records := []stream.Record{{ID: "a", Value: []byte("one")}, {ID: "b", Value: []byte("two")}}
	for i := range records {
		records[i].Seal()
	}
	times := 0
	for i, r := range l.AppendCopy(t.Context(), records, func() {
		times++
		for i := range records {
			clear(records[i].Value)
		}
		clear(records)
	}) {
		if r.Err != nil || r.Position != position(uint64(i)) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if times != 1 {
		t.Errorf("it was told %d times", times)
	}
	r, err := l.Read(t.Context(), position(0))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 2)
	if n, err := r.Next(t.Context(), into); n != 2 || err != nil || string(into[0].Value) != "one" || string(into[1].Value) != "two" {
		t.Errorf("%d are there, %v: %+v", n, err, into)
	}
	long := stream.Record{Value: make([]byte, 2<<10)}
	long.Seal()
	altered := stream.Record{Value: []byte("altered"), Sum: 1}
	good := stream.Record{Value: []byte("three")}
	good.Seal()
	for _, bad := range []stream.Record{long, altered} {
		l.AppendCopy(t.Context(), []stream.Record{good, bad}, func() { t.Error("not all are copied") })
	}
}

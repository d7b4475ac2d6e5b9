package embedded

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"whittle/systems/ingest/stream"
)

// FuzzSegment puts a patch into a segment, cuts it, and may mend the sums of its
// frames, so that they claim what the patch says. Verify, a reader and the
// recovery agree on what is there, and what is read is intact.
func FuzzSegment(f *testing.F) {
	disk, _ := written(f)
	name := segmentName(0)
	whole := disk.seen[name].seen[:used(f, disk, name)+sector]
	const uncut = 1 << 15
	f.Add(uint16(0), []byte{}, uint16(uncut), false)
	f.Add(uint16(0), []byte{}, uint16(3*sector+100), false)
	f.Add(uint16(10), []byte("label"), uint16(uncut), false)
	f.Add(uint16(sector), []byte{1}, uint16(uncut), false)
	for field := uint16(8); field < frameLen; field += 4 {
		f.Add(sector+field, []byte{2, 1}, uint16(uncut), true)
		f.Add(uint16(len(whole))-sector-frameLen+field, []byte{0xff, 0xff, 0xff, 0x7f}, uint16(uncut), true)
	}
	f.Add(uint16(sector+frameLen+20), []byte("value"), uint16(uncut), false)
	f.Add(uint16(2*sector), make([]byte, 4*sector), uint16(uncut), false)
	f.Fuzz(func(t *testing.T, at uint16, patch []byte, cut uint16, mend bool) {
		b := bytes.Clone(whole[:min(int(cut), len(whole))])
		copy(b[min(int(at), len(b)):], patch)
		if mend {
			mendFrames(b)
		}
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 1)))
		disk.seen[name] = &fakeFile{seen: b, kept: bytes.Clone(b), dirty: map[int64]bool{}}
		found, err := verify(t.Context(), disk)
		if err != nil {
			t.Fatal(err)
		}
		s, err := surveyOf(disk, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.settle(disk); err != nil {
			t.Fatal(err)
		}
		after, err := verify(t.Context(), disk)
		if found.Corrupt > 0 && found.Torn > 0 {
			return // what is cut off was the proof that what is damaged before it was once whole
		}
		if err != nil || after.Torn+after.Unexplained != 0 || after.Records != found.Records || after.Corrupt != found.Corrupt {
			t.Fatalf("recovered: %+v, %v\nbefore: %+v", after, err, found)
		}
		if found.Corrupt > 1<<16 {
			return // a frame far away: a reader would name each missing record
		}
		if intact, corrupt := readSegment(t, disk); intact != found.Records || corrupt != found.Corrupt {
			t.Fatalf("read %d intact and %d corrupt records; verify said %+v", intact, corrupt, found)
		}
	})
}

// mendFrames makes the sum of everything that looks like a frame right.
func mendFrames(b []byte) {
	for at := 0; at+sector <= len(b); at += sector {
		for _, frame := range [][]byte{b[at : at+frameLen], b[at+sector-frameLen : at+sector]} {
			if magic := le.Uint32(frame); magic == headMagic || magic == footMagic {
				le.PutUint32(frame[4:], stream.Checksum(frame[8:frameLen]))
			}
		}
	}
}

// readSegment counts what a reader gives.
func readSegment(t *testing.T, disk *fakeDisk) (intact, corrupt uint64) {
	t.Helper()
	o := onFakeDisk(disk)
	o.ReadOnly = true
	l, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	r, err := l.Read(t.Context(), stream.Position{Partition: Partition})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 3)
	for at, next := span(t, l); at < next; {
		n, err := r.Next(t.Context(), into)
		for _, e := range into[:n] {
			if !e.Intact() || e.Position != position(at) {
				t.Fatalf("read %+v, %d is next", e, at)
			}
			at++
			intact++
		}
		if broken, ok := errors.AsType[*stream.CorruptError](err); ok {
			if broken.Position != position(at) {
				t.Fatalf("%v, %d is next", err, at)
			}
			at++
			corrupt++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return intact, corrupt
}

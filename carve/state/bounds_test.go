package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"whittle"
)

// TestBoundsAreAllowed: what is as large as the bounds say is kept, and so is a record
// that has but one part, whichever it is.
func TestBoundsAreAllowed(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	large := []byte(strings.Repeat("x", 100_000))
	for name, want := range map[string]Record{
		strings.Repeat("n", maxName): {Epoch: "e"},
		"largest":                    {Judge: make([]byte, maxPart)},
		"epoch":                      {Epoch: string(large)},
		"rollout":                    {Rollout: large},
		"judge":                      {Judge: large},
		"guard":                      {Guard: large},
		"ledger":                     {Ledger: large},
		"nothing":                    {},
		"whole time line":            {Timeline: make([]whittle.Decision, MaxTimeline)},
	} {
		if err := s.Save(name, want); err != nil {
			t.Errorf("%.20s: %v", name, err)
		} else if got, err := s.Load(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.20s: another record came back, %v", name, err)
		}
	}
}

// TestDamageIsNamed: bytes whose checksum is right and which are no record are
// refused for what is wrong with them, wherever they end.
func TestDamageIsNamed(t *testing.T) {
	record, timeline, err := encode("r", generation(3))
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(body ...byte) []byte {
		b := append(make([]byte, headLen), body...)
		b[0] = recordVersion
		binary.BigEndian.PutUint32(b[1:headLen], checksum("r", body))
		return b
	}
	for _, c := range []struct {
		record []byte
		want   string
	}{
		{[]byte{}, "0 bytes are no record"},
		{record[:headLen-1], "4 bytes are no record"},
		{sealed(), "part 0 is cut off"},
		{sealed(1), "part 0 is cut off"},
		{sealed(2, 'a'), "part 0 is cut off"},
		{sealed(1, 'a', 0x80), "part 1 is cut off"},
		{sealed(0, 0, 0, 0, 0), "part 5 is cut off"},
		{sealed(0, 0, 0, 0, 0, 0), "the time line's checksum"},
		{sealed(append(record[headLen:len(record):len(record)], 'x')...), "1 bytes follow the last part"},
		{append([]byte{2}, record[1:]...), "a record of version 2"},
		{append(record[:len(record)-1:len(record)-1], record[len(record)-1]^1), "the record's checksum"},
	} {
		if _, err := decode("r", c.record, timeline); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20x: %v, not %s", c.record, err, c.want)
		}
	}
	if _, err := decode("r", record, timeline); err != nil {
		t.Error(err)
	}
}

// TestStunted: a file is too short from one byte on until it has its two pages; an
// empty one is new, and what is no file is none.
func TestStunted(t *testing.T) {
	folder := t.TempDir()
	for size, want := range map[int]bool{0: false, 1: true, 2*os.Getpagesize() - 1: true, 2 * os.Getpagesize(): false} {
		path := filepath.Join(folder, "file")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if stunted(path) != want {
			t.Errorf("%d bytes: %v", size, !want)
		}
	}
	if stunted(folder) || stunted(filepath.Join(folder, "none")) {
		t.Error("what is no file is too short a file")
	}
}

// TestOpenChecksTheStructure: a file each of whose records is whole, and of which one
// page is neither used nor free, is found when it is opened.
func TestOpenChecksTheStructure(t *testing.T) {
	path := tempPath(t)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := s.Save("r", generation(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Of the two pages that the file begins with the later one holds: behind 48 bytes
	// the number of the page that lists the free ones, behind 64 its transaction.
	page := uint64(os.Getpagesize())
	meta := b[:page]
	if other := b[page : 2*page]; binary.NativeEndian.Uint64(other[64:]) > binary.NativeEndian.Uint64(meta[64:]) {
		meta = other
	}
	free := b[page*binary.NativeEndian.Uint64(meta[48:]):]
	if n := binary.NativeEndian.Uint16(free[10:]); n == 0 {
		t.Fatal("no page is free")
	} else {
		binary.NativeEndian.PutUint16(free[10:], n-1)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "unreachable") {
		t.Fatalf("it was opened: %v", err)
	}
}

// TestPagesBeyondTheFile: a bucket whose page is said to be far beyond the file is damage that Open
// names, and no fault that ends the process.
func TestPagesBeyondTheFile(t *testing.T) {
	path := tempPath(t)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Save("r", generation(699)), s.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range [][]byte{bucketFormat, bucketRecord, bucketTimeline, bucketAside} {
		broken := bytes.Clone(whole)
		for at := 0; ; {
			i := bytes.Index(broken[at:], bucket)
			if i < 0 {
				break
			}
			if at += i + len(bucket); at+8 <= len(broken) && bytes.Equal(broken[at+4:at+8], make([]byte, 4)) { // the number of its page follows its name
				broken[at+3] = 0x40
			}
		}
		name := filepath.Join(t.TempDir(), "broken.db")
		if err := os.WriteFile(name, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(name); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", bucket, err)
		}
	}
}

// TestPagesThatLeadBack: a page that leads to itself is damage that Open names, and is not followed
// for ever with all memory for it.
func TestPagesThatLeadBack(t *testing.T) {
	path := tempPath(t)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if err := s.Save(strconv.Itoa(i), generation(699)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(path) // which is as it should be
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	size, branches := os.Getpagesize(), 0
	for at := 0; at+size <= len(whole); at += size {
		page := whole[at:]
		if id := binary.NativeEndian.Uint64(page); int(id)*size == at && binary.NativeEndian.Uint16(page[8:]) == branchPage {
			binary.NativeEndian.PutUint64(page[pageHead+8:], id)
			branches++
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) || branches == 0 {
		t.Errorf("%d pages lead back: %v", branches, err)
	}
}

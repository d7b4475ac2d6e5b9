package deadletter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
)

func TestDone(t *testing.T) {
	dir := t.TempDir()
	none, err := ReadDone(dir)
	if err != nil || none.Has(0) {
		t.Fatal(err)
	}
	none.Close()
	d, err := OpenDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDone(dir); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("opened twice: %v", err)
	}
	for _, n := range []uint64{7, 123} {
		if err := d.Add(Note{Outcome: Sent}, n); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	// A line is cut short by a crash, and another one follows it.
	path := filepath.Join(dir, doneName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := "\n" + strings.Repeat("1", 1<<17) + "3.\n4"
	if err := os.WriteFile(path, append(b, long...), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err = OpenDone(dir); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Add(Note{Outcome: Sent}, 55); err != nil {
		t.Fatal(err)
	}
	r, err := ReadDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[uint64]bool{7: true, 123: true, 55: true, 455: false, 5: false, 4: false, 3: false, 113: false} {
		if r.Has(n) != want {
			t.Errorf("%d: %v", n, r.Has(n))
		}
	}
}

// TestNotes: what became of a letter is read as it was written, whatever its text,
// and half a line is none.
func TestNotes(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, n := range []Note{
		{Sent, at, ""}, {Mended, at, ""}, {Replaced, at, "15, 16"}, {Removed, at, "a test. \"of\" ours\nin two lines\x00"}, {Removed, at, strings.Repeat("é", MaxNote)},
	} {
		line := strings.Trim(string(appendLine(nil, 12, n)), "\n")
		if n.Text = n.Text[:min(len(n.Text), MaxNote)]; len(line) > 4<<10 {
			t.Errorf("%d bytes in a line", len(line))
		}
		if offset, got, ok := parseLine(line); !ok || offset != 12 || got != n {
			t.Errorf("%+v became %d %+v, %v", n, offset, got, ok)
		}
		for i := range line {
			if offset, got, ok := parseLine(line[:i]); ok {
				t.Errorf("%q is read as %d %+v", line[:i], offset, got)
			}
		}
	}
	if offset, n, ok := parseLine("7."); !ok || offset != 7 || n != (Note{Outcome: Sent}) {
		t.Errorf("%d %+v %v", offset, n, ok)
	}
}

// TestTidy: the file forgets the letters that are gone, once there are many of them,
// and stays held by the one who writes it.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for n := range uint64(tidyLines + 10) {
		text = appendLine(text, n, Note{Outcome: Sent})
	}
	if _, err := d.file.Write(text); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if d, err = OpenDone(dir); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(Note{Removed, time.Unix(1_700_000_000, 0).UTC(), "why"}, 5); err != nil {
		t.Fatal(err)
	}
	for _, from := range []uint64{5, 9} { // the first leaves too few that are gone
		if err := d.Tidy(func(n uint64) bool { return n == 5 || n == 8 || n > from+1005 }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenDone(dir); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("opened twice: %v", err)
	}
	if err := d.Add(Note{Outcome: Sent}, 2000); err != nil {
		t.Fatal(err)
	}
	d.Close()
	r, err := ReadDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Of(5).Text != "why" || !r.Has(8) || !r.Has(2000) || len(r.notes) != 3 || r.lines != 3 {
		t.Errorf("%d lines, %+v", r.lines, r.notes)
	}
}

// TestNoFlippedBitMakesAnotherLetterDone turns each bit of a file: letters that were done
// may wait again, and no other is done for it.
func TestNoFlippedBitMakesAnotherLetterDone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, doneName)
	var whole []byte
	want := map[uint64]Note{12: {Outcome: Sent}, 13: {Removed, time.Unix(1_700_000_000, 0).UTC(), "why"}, 140: {Replaced, time.Unix(1_700_000_000, 0).UTC(), "15"}}
	for _, n := range []uint64{12, 13, 140} {
		whole = appendLine(whole, n, want[n])
	}
	for bit := range 8 * len(whole) {
		b := append([]byte{}, whole...)
		b[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadDone(dir)
		if err != nil {
			t.Fatal(err)
		}
		for n, note := range r.notes {
			if note != want[n] {
				t.Errorf("bit %d: %d is %+v", bit, n, note)
			}
		}
		if len(r.notes) < len(want)-1 {
			t.Errorf("bit %d: %+v", bit, r.notes)
		}
	}
}

// TestLinesOfEarlierVersions had no sum.
func TestLinesOfEarlierVersions(t *testing.T) {
	offset, n, ok := parseLine(`12 removed 2026-03-01T12:00:00Z "a #12345678".`)
	if want := (Note{Removed, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), "a #12345678"}); !ok || offset != 12 || n != want {
		t.Errorf("%d %+v %v", offset, n, ok)
	}
}

// TestANoteOfAnotherLog: where the letters' log was replaced, a new letter has the offset
// of one that is done, and waits all the same.
func TestANoteOfAnotherLog(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	if err := d.Add(Note{Outcome: Removed, Time: at}, 3); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if d, err = ReadDone(dir); err != nil {
		t.Fatal(err)
	}
	for came, want := range map[time.Duration]Outcome{-time.Hour: Removed, 0: Removed, 2 * time.Second: ""} {
		if n := d.For(3, at.Add(came)); n.Outcome != want {
			t.Errorf("%v: %+v", came, n)
		}
	}
}

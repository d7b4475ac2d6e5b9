package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"whittle"
	"whittle/systems/ingest/stream"
)

// smallLog is a closed log of several segments, whose values begin with a prefix.
func smallLog(t *testing.T, prefix string, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := Open(dir, Options{MaxRecord: 4 << 10, MaxBatch: 4 << 10, SegmentBytes: 20 << 10, Reserve: -1, ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	for i := range n {
		keep(t, l, record(fmt.Sprint(prefix, i), make([]byte, 3000)))
	}
	return dir
}

func take(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSegmentsOfAnotherLogInTheirPlace: they have the names, the offsets and the lengths
// of those that they are in the place of.
func TestSegmentsOfAnotherLogInTheirPlace(t *testing.T) {
	dir, other := smallLog(t, "a", 30), smallLog(t, "b", 30)
	take(t, other, dir, segmentName(0), segmentName(1))
	e, err := EndOf(dir)
	if err != nil || len(e.Foreign) != 2 || e.Foreign[0] != segmentName(0) || e.Missing != 0 || len(e.Misplaced) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	r, err := Verify(t.Context(), dir)
	if err != nil || len(r.End.Foreign) != 2 || r.Damaged != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if e, err := EndOf(other); err != nil || len(e.Foreign) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestALogOfBeforeLogsHadNumbers goes on as it is, and its new segments have one.
func TestALogOfBeforeLogsHadNumbers(t *testing.T) {
	dir := smallLog(t, "a", 30)
	names, err := folder(dir).List()
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range segmentNumbers(names) {
		f, err := folder(dir).Open(segmentName(number), true)
		if err == nil {
			_, err = f.WriteAt(make([]byte, labelLen-numberLen), numberLen)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(dir, Options{Reserve: -1, ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, l, record("new", make([]byte, 10)))
	closing(t, l)
	r, err := Verify(t.Context(), dir)
	if err != nil || r.Damaged != 0 || len(r.End.Foreign) != 0 || r.Records != 31 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAFollowerOfAnotherLog is told: what it waits for does not come any more.
func TestAFollowerOfAnotherLog(t *testing.T) {
	other := smallLog(t, "b", 30)
	otherNames, err := folder(other).List()
	if err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]func(dir string, names []string){
		"another log": func(dir string, names []string) {
			remove(t, dir, names...)
			take(t, other, dir, otherNames...)
		},
		"nothing":   func(dir string, names []string) { remove(t, dir, names...) },
		"a part":    func(dir string, names []string) { remove(t, dir, names[len(names)-2:]...) },
		"an end":    func(dir string, _ []string) { take(t, dir, dir, markName) },
		"cut short": func(dir string, names []string) { cut(t, filepath.Join(dir, names[len(names)-1])) },
	} {
		dir := smallLog(t, "a", 30)
		all, err := folder(dir).List()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, number := range segmentNumbers(all) {
			names = append(names, segmentName(number))
		}
		l, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Read(t.Context(), stream.Position{Partition: Partition, Offset: "30"})
		if err != nil {
			t.Fatal(err)
		}
		replace(dir, names)
		ctx, cancel := context.WithCancel(t.Context())
		if name == "an end" {
			cancel() // nothing has changed
		}
		_, err = r.Next(ctx, make([]stream.Entry, 1))
		cancel()
		if want := map[bool]whittle.Code{true: whittle.Canceled, false: whittle.FailedPrecondition}[name == "an end"]; whittle.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		_ = r.Close()
		closing(t, l)
	}
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func cut(t *testing.T, path string) {
	t.Helper()
	if err := os.Truncate(path, sector); err != nil {
		t.Fatal(err)
	}
}

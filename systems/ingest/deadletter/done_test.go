package deadletter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		if err := d.Add(n); err != nil {
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
	if err := d.Add(55); err != nil {
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

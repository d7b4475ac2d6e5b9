package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// TestEveryNameIsSynced before anything is made below it, also when an earlier
// run was cut short at any of its syncs.
func TestEveryNameIsSynced(t *testing.T) {
	errCut := errors.New("the process ended")
	for cut := range 5 {
		top := t.TempDir()
		want := []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")}
		dir := filepath.Join(top, "a", "b", "c")
		known := map[string]bool{top: true} // folders whose names are on the disk
		sync := func(parent string) error {
			if cut--; cut == -1 {
				return errCut
			}
			entries, err := os.ReadDir(parent)
			for _, e := range entries {
				known[filepath.Join(parent, e.Name())] = true
			}
			if !known[parent] && parent != filepath.Dir(top) {
				t.Errorf("%s was filled before its name was on the disk", parent)
			}
			return err
		}
		err := mkdirAll(dir, sync)
		if err != nil {
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			err = mkdirAll(dir, sync)
		}
		fatal.If(t, err)
		for _, name := range append(want, dir) {
			if !known[name] {
				t.Errorf("the name of %s is not on the disk", name)
			}
		}
	}
}

func TestAFolderThatIsThere(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	err := mkdirAll(dir, func(parent string) error {
		synced = append(synced, parent)
		return nil
	})
	if err != nil || !slices.Equal(synced, []string{filepath.Dir(dir)}) {
		t.Errorf("synced %v, %v", synced, err)
	}
	t.Chdir(dir)
	fatal.If(t, MkdirAll("x/y/../z/"))
	if info, err := os.Stat(filepath.Join(dir, "x", "z")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFileInTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	fatal.If(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := MkdirAll(dir); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

var at = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// generation is a record in which every part names the same number.
func generation(n int) Record {
	mark := fmt.Sprintf("generation %d ", n)
	return Record{
		Epoch:    mark,
		Rollout:  []byte(mark),
		Judge:    []byte(strings.Repeat(mark, 1+n%700)), // from one page to a few
		Guard:    []byte(strings.Repeat(mark, 1+n%7)),
		Ledger:   fmt.Appendf(nil, "%d", n),
		Timeline: []whittle.Decision{{At: at, Reason: mark, By: "whittle", Phase: whittle.PhaseShadow}},
	}
}

func tempPath(t *testing.T) string { return filepath.Join(t.TempDir(), "whittle.db") }

func mustOpen(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	fatal.If(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSaveLoadAcrossAReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "whittle.db")
	s, err := Open(path)
	fatal.If(t, err)
	want := map[string]Record{}
	for i := range 10 {
		name := fmt.Sprintf("POST /route/%d", i)
		want[name] = generation(i * 370)
		fatal.If(t, s.Save(name, generation(1)))
		fatal.If(t, s.Save(name, want[name]))
	}
	fatal.If(t, s.Close())
	s = mustOpen(t, path)
	for name, w := range want {
		if got, err := s.Load(name); err != nil || !reflect.DeepEqual(got, w) {
			t.Fatalf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, err := s.Load("GET /unknown"); err != nil || !reflect.DeepEqual(got, Record{}) {
		t.Errorf("an unknown route gives %+v, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSaveRefuses(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	for _, name := range []string{"", strings.Repeat("x", maxName+1)} {
		fatal.Same(t, whittle.CodeOf(s.Save(name, Record{})), whittle.Invalid, "a name of %d bytes", len(name))
	}
	fatal.Same(t, whittle.CodeOf(s.Save("r", Record{Judge: make([]byte, maxPart+1)})), whittle.ResourceExhausted, "a giant part")
}

func TestOpenHeldByAnother(t *testing.T) {
	path := tempPath(t)
	mustOpen(t, path)
	_, err := Open(path)
	coded, ok := errors.AsType[*whittle.Error](err)
	if !ok || coded.Code != whittle.Unavailable || !strings.Contains(err.Error(), "in use by another process") || coded.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// Damage anywhere in the file is found when it is opened.
func TestDamageIsFound(t *testing.T) {
	path := tempPath(t)
	s, err := Open(path)
	fatal.If(t, err)
	fatal.If(t, errors.Join(s.Save("r", generation(699)), s.Close()))
	whole := []byte(fatal.Read(t, path))
	try := func(name string, b []byte) {
		fatal.If(t, os.WriteFile(path, b, 0o600))
		for range 2 { // nor is it left locked
			if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for i := 0; i < len(whole); i += 509 {
		flipped := slices.Clone(whole)
		flipped[i] ^= 0xa5
		try(fmt.Sprintf("flip at %d", i), flipped)
	}
	for n := 1; n < len(whole); n += 4001 {
		try(fmt.Sprintf("cut to %d", n), whole[:n])
	}
	try("more behind it", append(slices.Clone(whole), ' '))
}

// After a save that fails the record before is there, on disk too, and a later save succeeds.
func TestFailedSaveKeepsTheRecordBefore(t *testing.T) {
	path := tempPath(t)
	s := mustOpen(t, path)
	fatal.If(t, s.Save("r", generation(7)))
	fatal.If(t, os.Mkdir(path+".new", 0o700)) // where the next file would be written
	if err := s.Save("r", generation(8)); err == nil {
		t.Error("saved")
	}
	onDisk, err := read(path)
	fatal.If(t, err)
	want, _ := encode("r", generation(7))
	if got, err := s.Load("r"); err != nil || !reflect.DeepEqual(got, generation(7)) || string(onDisk["r"]) != string(want) {
		t.Errorf("after the failure: %s, %v", got.Epoch, err)
	}
	fatal.If(t, os.Remove(path+".new"))
	if err := s.Save("r", generation(9)); err != nil {
		t.Errorf("after it: %v", err)
	}
	fatal.Same(t, codeOf(&os.PathError{Err: syscall.ENOSPC}), whittle.ResourceExhausted, "a full disk")
}

func TestSetAside(t *testing.T) {
	path := tempPath(t)
	fatal.If(t, os.WriteFile(path, []byte("broken"), 0o600))
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
	aside, err := SetAside(path, at)
	fatal.If(t, err)
	if b, err := os.ReadFile(aside); err != nil || string(b) != "broken" {
		t.Errorf("%s holds %q, %v", aside, b, err)
	}
	mustOpen(t, path)
}

func TestOpenNarrowsTheMode(t *testing.T) {
	path := tempPath(t)
	fatal.If(t, os.WriteFile(path, nil, 0o644))
	mustOpen(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

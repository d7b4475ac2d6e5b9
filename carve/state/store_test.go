package state

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"whittle"
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

// numberOf is the number that a record's ledger names; 0 where none was saved.
func numberOf(r Record) (n int64) {
	_, _ = fmt.Sscan(string(r.Ledger), &n)
	return n
}

func tempPath(t *testing.T) string { return filepath.Join(t.TempDir(), "whittle.db") }

func mustOpen(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Record{}
	for i := range 100 {
		name := fmt.Sprintf("POST /route/%d", i)
		want[name] = generation(i * 37)
		if err := s.Save(name, generation(1)); err != nil {
			t.Fatal(err)
		}
		if err := s.Save(name, want[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestOpenNarrowsTheMode(t *testing.T) {
	path := tempPath(t)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	r := Record{}
	for i := range MaxTimeline + 20 {
		r.Timeline = append(r.Timeline, whittle.Decision{At: at.Add(time.Duration(i) * time.Second), Reason: "x", By: "whittle"})
	}
	if err := s.Save("r", r); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load("r")
	if err != nil || len(got.Timeline) != MaxTimeline || !reflect.DeepEqual(got.Timeline, r.Timeline[20:]) {
		t.Errorf("%d decisions, %v", len(got.Timeline), err)
	}
}

func TestSaveRefuses(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	for _, name := range []string{"", strings.Repeat("x", maxName+1)} {
		if err := s.Save(name, Record{}); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
	if err := s.Save("r", Record{Judge: make([]byte, maxPart+1)}); whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("a giant part: %v", err)
	}
}

func TestFullFileKeepsTheRecordBefore(t *testing.T) {
	s, err := open(tempPath(t), 256<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Save("r", generation(7)); err != nil {
		t.Fatal(err)
	}
	big := generation(8)
	big.Judge = make([]byte, 1<<20)
	err = s.Save("r", big)
	if coded, ok := errors.AsType[*whittle.Error](err); !ok || coded.Code != whittle.ResourceExhausted || coded.Hint == "" {
		t.Fatalf("got %v", err)
	}
	if got, err := s.Load("r"); err != nil || !reflect.DeepEqual(got, generation(7)) {
		t.Errorf("after the refusal: %+v, %v", got.Epoch, err)
	}
	if err := s.Save("r", generation(9)); err != nil {
		t.Errorf("a small one after it: %v", err)
	}
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

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	later := filepath.Join(dir, "later.db")
	s, err := Open(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketFormat).Put(keyVersion, []byte("9")) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short.db")
	if err := os.WriteFile(short, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]whittle.Code{
		"": whittle.Invalid, later: whittle.Unsupported, text: whittle.Internal, short: whittle.Internal,
	} {
		_, err := Open(path)
		coded, ok := errors.AsType[*whittle.Error](err)
		if !ok || coded.Code != want || coded.Field != "state" || (path != "" && coded.Hint == "") {
			t.Errorf("%q: %v", path, err)
		}
		if want == whittle.Internal && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v is not ErrCorrupt", path, err)
		}
	}
}

// Damage anywhere in the file is found by Open or by Load, or was in a place
// that holds nothing: it never gives another record than the one written.
func TestDamageIsFound(t *testing.T) {
	path := tempPath(t)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := generation(699)
	for range 3 {
		if err := s.Save("r", want); err != nil {
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
	found := 0
	try := func(name string, bytes []byte) {
		broken := filepath.Join(t.TempDir(), "broken.db")
		if err := os.WriteFile(broken, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(broken)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: open: %v", name, err)
			}
			if _, err := Open(broken); !errors.Is(err, ErrCorrupt) { // nor is it left locked
				t.Errorf("%s: open once more: %v", name, err)
			}
			found++
			return
		}
		defer s.Close()
		if err := s.db.View(func(tx *bbolt.Tx) error { return errors.Join(slices.Collect(received(tx.Check()))...) }); err != nil {
			t.Errorf("%s: it was opened, and has %v", name, err)
		}
		got, err := s.Load("r")
		switch {
		case errors.Is(err, ErrCorrupt):
			found++
		case err != nil:
			t.Errorf("%s: load: %v", name, err)
		case !reflect.DeepEqual(got, want) && !reflect.DeepEqual(got, Record{}):
			t.Errorf("%s: another record came back", name)
		}
	}
	for i := 0; i < len(whole); i += 509 {
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 0xa5
		try(fmt.Sprintf("flip at %d", i), flipped)
	}
	for n := 1; n < len(whole); n += 4001 {
		try(fmt.Sprintf("cut to %d", n), whole[:n])
	}
	if found == 0 {
		t.Error("no damage was found at all")
	}
}

// received is what comes out of a channel until it is closed.
func received[T any](c <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}

func TestDamagedRecordIsKeptAside(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	if err := s.Save("r", generation(5)); err != nil {
		t.Fatal(err)
	}
	var damaged []byte
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketRecord)
		damaged = append(damaged, b.Get([]byte("r"))...)
		damaged[len(damaged)-1] ^= 1
		return b.Put([]byte("r"), damaged)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("r"); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
	if err := s.Save("r", generation(6)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load("r"); err != nil || !reflect.DeepEqual(got, generation(6)) {
		t.Errorf("after a save: %v, %v", got.Epoch, err)
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		if got := tx.Bucket(bucketAside).Get([]byte("r")); string(got) != string(damaged) {
			t.Error("the damaged record is lost")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSetAside(t *testing.T) {
	path := tempPath(t)
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
	aside, err := SetAside(path, at)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(aside); err != nil || string(b) != "broken" {
		t.Errorf("%s holds %q, %v", aside, b, err)
	}
	mustOpen(t, path)
}

func TestSavesFromManyGoroutines(t *testing.T) {
	s := mustOpen(t, tempPath(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("route ", i)
			for n := range 5 {
				if err := s.Save(name, generation(n)); err != nil {
					t.Error(err)
				}
				if got, err := s.Load(name); err != nil || got.Epoch != generation(n).Epoch {
					t.Errorf("%s: %q, %v", name, got.Epoch, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestClosedStoreFails(t *testing.T) {
	s, err := Open(tempPath(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Save("r", Record{}); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("save: %v", err)
	}
	if _, err := s.Load("r"); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("load: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	record, timeline, err := encode("r", generation(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record, timeline)
	f.Add([]byte{}, []byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0xff}, []byte("[]"))
	f.Fuzz(func(t *testing.T, record, timeline []byte) {
		r, err := decode("r", record, timeline)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		again, _, err := encode("r", r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decode("r", again, mustTimeline(t, r)); err != nil || back.Epoch != r.Epoch {
			t.Fatalf("does not survive a second round: %v", err)
		}
	})
}

func mustTimeline(t *testing.T, r Record) []byte {
	t.Helper()
	_, timeline, err := encode("r", r)
	if err != nil {
		t.Fatal(err)
	}
	return timeline
}

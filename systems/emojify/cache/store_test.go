package cache

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests set.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Unix(1_800_000_000, 0)} }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	fatal.If(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func keyOf(name string) Key { return sha256.Sum256([]byte(name)) }

func put(t testing.TB, s *Store, name, value string) {
	t.Helper()
	if n, err := s.Put(context.Background(), keyOf(name), strings.NewReader(value)); err != nil || n != int64(len(value)) {
		t.Fatalf("put %s: %d, %v", name, n, err)
	}
}

// get returns an item's bytes, or "-" where there is none.
func get(t testing.TB, s *Store, name string) string {
	t.Helper()
	item, err := s.Get(keyOf(name))
	if whittle.CodeOf(err) == whittle.NotFound && err != nil {
		return "-"
	}
	fatal.If(t, err)
	defer item.Close()
	b, err := io.ReadAll(item)
	if err != nil || int64(len(b)) != item.Size {
		t.Fatalf("read %s: %d of %d bytes, %v", name, len(b), item.Size, err)
	}
	return string(b)
}

func has(t testing.TB, s *Store, want string, names ...string) {
	t.Helper()
	var got strings.Builder
	for _, n := range names {
		if s.Exists(keyOf(n)) {
			got.WriteString(n)
		}
	}
	fatal.Same(t, got.String(), want, "there are")
}

func onDisk(t testing.TB, s *Store, folder string) int {
	t.Helper()
	files, err := os.ReadDir(s.path(folder))
	fatal.If(t, err)
	return len(files)
}

func TestKeysAreHashesOnly(t *testing.T) {
	good := keyOf("a").String()
	if k, err := ParseKey(good); err != nil || k != keyOf("a") {
		t.Errorf("%s: %v", good, err)
	}
	for _, bad := range []string{"", "a", good[1:], good + "0", strings.ToUpper(good), "../../" + good[6:], good[:63] + "/", good[:63] + "g", good[:62] + "\x00\x00"} {
		_, err := ParseKey(bad)
		whittletest.Refused(t, err, whittle.Invalid, bad)
	}
}

func TestItemsAreKeptReplacedAndExpire(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.now, TTL: time.Hour})
	fatal.Same(t, get(t, s, "a"), "-", "before")
	put(t, s, "a", "one")
	c.pass(30 * time.Minute)
	put(t, s, "b", "bee")
	fatal.Same(t, get(t, s, "a"), "one", "after half an hour")
	c.pass(30 * time.Minute)
	has(t, s, "b", "a", "b")
	fatal.Same(t, get(t, s, "a"), "-", "after an hour")
	put(t, s, "a", "two")
	fatal.Same(t, get(t, s, "a"), "two", "replaced")
	c.pass(30 * time.Minute)
	fatal.If(t, s.Sweep())
	if onDisk(t, s, itemFolder) != 1 || onDisk(t, s, partialFolder) != 0 {
		t.Errorf("%d items and %d parts on disk, want 1 and 0", onDisk(t, s, itemFolder), onDisk(t, s, partialFolder))
	}
	if got := s.Stats(); got.Items != 1 || got.Bytes != 3 || got.Hits != 2 || got.Misses != 2 {
		t.Errorf("stats = %+v", got)
	}
}

func TestLeastRecentlyUsedGoFirst(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{MaxBytes: 30, Now: c.now})
	for _, n := range []string{"a", "b", "c"} {
		put(t, s, n, "0123456789")
	}
	get(t, s, "a")
	s.Exists(keyOf("b")) // is no use
	put(t, s, "d", "0123456789")
	has(t, s, "acd", "a", "b", "c", "d")
	put(t, s, "c", "0123456789") // in place of itself: nothing has to go
	has(t, s, "acd", "a", "b", "c", "d")
	put(t, s, "e", strings.Repeat("x", 30))
	has(t, s, "e", "a", "b", "c", "d", "e")
	put(t, s, "e", strings.Repeat("y", 29))
	has(t, s, "e", "e")
	if got := s.Stats(); got.Bytes != 29 || onDisk(t, s, itemFolder) != 1 {
		t.Errorf("stats = %+v, %d files", got, onDisk(t, s, itemFolder))
	}
}

// TestAnExpiredItemMakesNoRoomTwice: it goes for its age, and what is put in its place
// needs all of its room.
func TestAnExpiredItemMakesNoRoomTwice(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), Options{MaxBytes: 100, TTL: time.Hour, Now: clock.now})
	put(t, s, "a", strings.Repeat("a", 60))
	clock.pass(30 * time.Minute)
	put(t, s, "b", strings.Repeat("b", 40))
	clock.pass(30 * time.Minute)
	put(t, s, "a", strings.Repeat("a", 100))
	if st := s.Stats(); st.Bytes > 100 || st.Items != 1 || get(t, s, "a") == "-" {
		t.Errorf("%+v", st)
	}
}

func TestRestartKnowsWhatThereIs(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	first := open(t, dir, Options{Now: c.now, TTL: time.Hour})
	for _, n := range []string{"c", "a", "b"} { // no order that a folder has
		put(t, first, n, "of "+n)
		c.pass(20 * time.Minute)
	}
	_, err := Open(dir, Options{})
	whittletest.Refused(t, err, whittle.FailedPrecondition, "a second one on the same folder")
	first.Close()
	// What a crash may leave, and what is not the cache's.
	stranger := filepath.Join(dir, itemFolder, "notes.txt")
	for _, name := range []string{filepath.Join(dir, partialFolder, "17"), stranger} {
		fatal.If(t, os.WriteFile(name, []byte("half"), 0o600))
	}
	second := open(t, dir, Options{Now: c.now, TTL: time.Hour})
	has(t, second, "ab", "a", "b", "c") // c is an hour old
	fatal.Same(t, get(t, second, "a"), "of a", "a")
	fatal.Same(t, onDisk(t, second, partialFolder), 0, "parts left")
	second.Close()
	third := open(t, dir, Options{Now: c.now, TTL: time.Hour, MaxBytes: 5})
	has(t, third, "b", "a", "b") // the one put last
	third.Close()
	c.pass(-24 * time.Hour) // the clock was wrong
	fourth := open(t, dir, Options{Now: c.now, TTL: time.Hour})
	has(t, fourth, "b", "a", "b")
	c.pass(time.Hour)
	has(t, fourth, "", "a", "b")
	if _, err := os.Stat(stranger); err != nil {
		t.Errorf("the stranger's file is gone: %v", err)
	}
}

package journal

import (
	"slices"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// machine has a clock that can be set.
type machine struct{ wall time.Time }

func (m *machine) pass(d time.Duration) { m.wall = m.wall.Add(d) }

func (m *machine) options(o Options) Options {
	o.now = func() time.Time { return m.wall }
	return o
}

const day = 24 * time.Hour

// record appends entries that arrive now.
func (m *machine) record(t *testing.T, w *Writer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		e := exchange(i)
		e.At = m.wall
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Flush())
}

func follow(t *testing.T, r *Reader) (all []string) {
	t.Helper()
	for e := range entries(t, r, Filter{}) {
		all = append(all, e.Request.Header.Get("X-N"))
	}
	return all
}

// What a wrong clock stamped goes with what was recorded after it, and holds
// back nothing.
func TestWhatIsStampedInTheFuture(t *testing.T) {
	dir := t.TempDir()
	m := &machine{wall: begun.AddDate(5, 0, 0)}
	w := create(t, dir, m.options(Options{MaxAge: 7 * day}))
	m.record(t, w, 0, 2)
	m.wall = begun
	for i := 2; i < 12; i++ {
		m.record(t, w, i, i+1)
		m.pass(day)
	}
	fatal.If(t, w.Flush())
	finish(t, w)
	fatal.Same(t, follow(t, open(t, dir)), []string{"5", "6", "7", "8", "9", "10", "11"}, "are left")
}

// A follower reads on over a restart that finds the folder emptied by age.
func TestAFollowerOverAnEmptiedFolder(t *testing.T) {
	dir := t.TempDir()
	m := &machine{wall: begun}
	w := create(t, dir, m.options(Options{MaxAge: day}))
	m.record(t, w, 0, 2)
	r := open(t, dir)
	if got := follow(t, r); !slices.Equal(got, []string{"0", "1"}) {
		t.Fatal(got)
	}
	m.pass(3 * day)
	fatal.If(t, w.Flush())
	m.pass(3 * day)
	fatal.If(t, w.Flush())
	finish(t, w)
	if all, _ := segments(dir); len(all) != 0 {
		t.Fatalf("not emptied: %v", all)
	}
	for i := 2; i < 6; i++ {
		w = create(t, dir, m.options(Options{MaxAge: day}))
		m.record(t, w, i, i+1)
		finish(t, w)
		if got, want := follow(t, r), exchange(i).Request.Header.Get("X-N"); !slices.Equal(got, []string{want}) {
			t.Fatalf("after restart: %v, not %s", got, want)
		}
	}
}

package journal

import (
	"context"
	"errors"
	"io"
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
	m.flush(t, w)
}

func (m *machine) flush(t *testing.T, w *Writer) {
	t.Helper()
	fatal.If(t, w.Flush())
}

// has tells which exchanges a folder has.
func has(t *testing.T, dir string) (all []string) {
	t.Helper()
	r, err := Open(dir)
	fatal.If(t, err)
	defer r.Close()
	return follow(t, r)
}

func follow(t *testing.T, r *Reader) (all []string) {
	t.Helper()
	for {
		e, err := r.Next(context.Background(), Filter{})
		if errors.Is(err, io.EOF) {
			return all
		}
		fatal.If(t, err)
		all = append(all, e.Request.Header.Get("X-N"))
	}
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
	m.flush(t, w)
	finish(t, w)
	if got := has(t, dir); !slices.Equal(got, []string{"5", "6", "7", "8", "9", "10", "11"}) {
		t.Errorf("%v are left", got)
	}
}

// A follower reads on over a restart that finds the folder emptied by age.
func TestAFollowerOverAnEmptiedFolder(t *testing.T) {
	dir := t.TempDir()
	m := &machine{wall: begun}
	w := create(t, dir, m.options(Options{MaxAge: day}))
	m.record(t, w, 0, 2)
	r, err := Open(dir)
	fatal.If(t, err)
	defer r.Close()
	if got := follow(t, r); !slices.Equal(got, []string{"0", "1"}) {
		t.Fatal(got)
	}
	m.pass(3 * day)
	m.flush(t, w)
	m.pass(3 * day)
	m.flush(t, w)
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

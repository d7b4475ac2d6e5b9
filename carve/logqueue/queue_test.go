package logqueue

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNobodyWaitsForALog: while the log takes nothing, lines are queued up to the
// bound and dropped above it; then the queued ones are written in order, and the
// others told of.
func TestNobodyWaitsForALog(t *testing.T) {
	r, w := io.Pipe()
	q := New(w, func(to io.Writer, dropped int64) { fmt.Fprintf(to, "dropped %d\n", dropped) })
	const line = 1 << 10
	sent := 3 * bound / line
	for i := range sent {
		fmt.Fprintf(q, "%0*d\n", line-1, i)
	}
	dropped := q.Dropped()
	if dropped < int64(sent/3) || dropped >= int64(sent) {
		t.Errorf("%d of %d lines dropped", dropped, sent)
	}
	var all strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&all, r) })
	q.Close(time.Minute)
	w.Close()
	reading.Wait()
	lines := strings.Split(strings.TrimSpace(all.String()), "\n")
	last, reported := -1, int64(0)
	for _, l := range lines {
		var n int
		switch {
		case strings.HasPrefix(l, "dropped "):
			fmt.Sscanf(l, "dropped %d", &n)
			reported += int64(n)
		default:
			if _, err := fmt.Sscanf(l, "%d", &n); err != nil || n <= last || len(l) != line-1 {
				t.Fatalf("after line %d came %.40q", last, l)
			}
			last = n
		}
	}
	if kept := int64(len(lines)); kept < int64(sent)-dropped {
		t.Errorf("%d lines written, %d dropped of %d", kept, dropped, sent)
	}
	fatal.Same(t, reported, dropped, "reported of what was dropped")
}

// TestDropsAreReported: when the log takes lines again, it gets the number that is missing.
func TestDropsAreReported(t *testing.T) {
	r, w := io.Pipe()
	reported := make(chan int64, 1)
	q := New(w, func(_ io.Writer, dropped int64) { reported <- dropped })
	for range 3 * bound / 1024 {
		_, _ = q.Write(make([]byte, 1024))
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, r) })
	fatal.Same(t, <-reported, q.Dropped(), "reported of what was dropped")
	q.Close(time.Minute)
	w.Close()
	reading.Wait()
}

// TestCloseIsBounded: a log that takes nothing does not keep a process from ending.
func TestCloseIsBounded(t *testing.T) {
	r, w := io.Pipe()
	q := New(w, func(io.Writer, int64) {})
	fmt.Fprintln(q, "nobody reads this")
	q.Close(time.Millisecond)
	r.Close()
	<-q.ended
	if fmt.Fprintln(q, "too late"); q.Dropped() != 2 {
		t.Errorf("%d of 2 dropped", q.Dropped())
	}
}

// full is a disk: it takes room bytes and no more, until somebody makes room.
type full struct {
	taken strings.Builder
	room  int
	fails chan struct{}
}

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.taken.Write(p[:n])
	if n < len(p) {
		f.room = 1 << 10
		f.fails <- struct{}{}
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestAFailedWriteCountsItsLines: the lines that a full disk does not take are counted
// as dropped, and reported once it has room again.
func TestAFailedWriteCountsItsLines(t *testing.T) {
	disk := &full{room: 6, fails: make(chan struct{})}
	q := New(disk, func(to io.Writer, dropped int64) { fmt.Fprintf(to, "dropped %d\n", dropped) })
	fmt.Fprint(q, "lost at once\n")
	<-disk.fails
	fmt.Fprint(q, "kept\n")
	q.Close(time.Minute)
	if got, want := disk.taken.String(), "lost akept\ndropped 1\n"; got != want || q.Dropped() != 1 {
		t.Errorf("the log has %q instead of %q, %d dropped", got, want, q.Dropped())
	}
}

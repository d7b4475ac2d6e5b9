package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/whittletest"
)

var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// exchange makes the i-th entry of a test.
func exchange(i int) *capture.Entry {
	route := "GET /users/{id}"
	if i%3 == 0 {
		route = "POST /Count"
	}
	return &capture.Entry{
		Route: route,
		Conn:  uint64(i%7) + 1,
		At:    begun.Add(time.Duration(i) * time.Millisecond),
		Request: whittle.Request{
			Method: "GET", Target: fmt.Sprintf("/users/%d?x=%d", i, i%5), Host: "shop.test",
			Header: whittle.Header{"Accept": {"application/json"}, "X-N": {fmt.Sprint(i)}},
		},
		Response: whittle.Response{
			Status: 200, Latency: time.Duration(i) * time.Microsecond,
			Header: whittle.Header{"Content-Type": {"application/json"}},
			Body:   fmt.Appendf(nil, `{"id":%d,"name":"user %d","tags":["a","b"],"seen":"2026-03-01T12:00:00Z"}`, i, i*7919),
		},
	}
}

func create(t testing.TB, dir string, o Options) *Writer {
	t.Helper()
	if o.now == nil {
		o.now = func() time.Time { return begun }
	}
	w, err := Create(dir, o)
	fatal.If(t, err)
	return w
}

func appendAll(t testing.TB, w *Writer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		fatal.If(t, w.Append(exchange(i)))
	}
}

func finish(t testing.TB, w *Writer) {
	t.Helper()
	fatal.If(t, w.Close())
}

// fill appends exchanges by a writer of their own.
func fill(t testing.TB, dir string, o Options, from, to int) {
	t.Helper()
	w := create(t, dir, o)
	appendAll(t, w, from, to)
	finish(t, w)
}

// open opens a log until the test ends.
func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	fatal.If(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// entries are what a reader has until its end.
func entries(t testing.TB, r *Reader, f Filter) iter.Seq[*capture.Entry] {
	return func(yield func(*capture.Entry) bool) {
		for {
			e, err := r.Next(context.Background(), f)
			if errors.Is(err, io.EOF) {
				return
			}
			if fatal.If(t, err); !yield(e) {
				return
			}
		}
	}
}

// numbers reads which exchanges a log has, and sees that each is as it was.
func numbers(t testing.TB, path string, f Filter) ([]int, []Damage) {
	t.Helper()
	r := open(t, path)
	var all []int
	for e := range entries(t, r, f) {
		var i int
		if _, err := fmt.Sscan(e.Request.Header.Get("X-N"), &i); err != nil {
			t.Fatal(err)
		}
		if want := exchange(i); !reflect.DeepEqual(e, want) {
			t.Fatalf("entry %d:\n got %+v\nwant %+v", i, e, want)
		}
		all = append(all, i)
	}
	return all, r.Damages()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, Options{SegmentBytes: 20 << 10}, 0, 5000)
	fill(t, dir, Options{}, 5000, 6000)

	got, damages := numbers(t, dir, Filter{})
	if !slices.Equal(got, without(6000, 0, 0)) || damages != nil {
		t.Fatalf("%d entries, %+v", len(got), damages)
	}
	got, _ = numbers(t, dir, Filter{Route: "POST /Count", From: begun.Add(time.Second), To: begun.Add(2 * time.Second)})
	if len(got) != 333 || got[0] != 1002 || got[332] != 1998 {
		t.Fatalf("filtered: %d entries, %v", len(got), got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, next := open(t, dir).Next(ended, Filter{})
	if _, list := List(ended, dir); !errors.Is(next, context.Canceled) || !errors.Is(list, context.Canceled) {
		t.Errorf("asked to stop: %v, %v", next, list)
	}
}

// An entry has the same number whatever the filter.
func TestAnEntryHasItsNumber(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, Options{})
	for i := range 3000 {
		appendAll(t, w, i, i+1)
		if i%100 == 0 {
			fatal.If(t, w.Flush())
		}
	}
	finish(t, w)
	for _, f := range []Filter{{}, {Route: "POST /Count"}, {From: begun.Add(time.Second)}} {
		r, n := open(t, dir), 0
		for e := range entries(t, r, f) {
			n++
			if want := int64(e.At.Sub(begun)/time.Millisecond) + 1; r.Number() != want {
				t.Fatalf("%+v: entry %d has number %d", f, want, r.Number())
			}
		}
		if n < 1000 {
			t.Errorf("%+v: %d entries", f, n)
		}
	}
}

// What a writer says of its entries stays with them, whatever is said later. A bad entry costs
// itself.
func TestWhatIsSaidOfEntries(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, Options{About: []byte("one")})
	appendAll(t, w, 0, 3)
	for _, say := range []string{"one", "two", "two"} { // the same begins nothing
		fatal.If(t, w.Describe([]byte(say)))
	}
	bad := exchange(3)
	bad.Response.Body = make([]byte, capture.MaxBody+1)
	if err := w.Append(bad); whittle.CodeOf(err) != whittle.ResourceExhausted || w.Lost() != 0 {
		t.Errorf("too large: %v, %d lost", err, w.Lost())
	}
	appendAll(t, w, 3, 5)
	whittletest.Refused(t, w.Describe(make([]byte, MaxAbout+1)), whittle.Internal, "too long")
	finish(t, w)
	fill(t, dir, Options{}, 5, 6)
	fill(t, dir, Options{About: []byte("one")}, 6, 7)

	if got, damages := numbers(t, dir, Filter{}); len(got) != 7 || damages != nil {
		t.Errorf("%v, %+v", got, damages)
	}
	r := open(t, dir)
	said := ""
	for range entries(t, r, Filter{}) {
		said += string(r.About()) + "."
	}
	fatal.Same(t, said, "one.one.one.two.two..one.", "")
	l, err := List(context.Background(), dir)
	if err != nil || len(l.Parts) != 3 || l.Parts[0].Entries != 4 || string(l.Parts[1].About) != "two" || l.Parts[1].Entries != 2 || l.Parts[2].About != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// live is what the heap holds once the garbage is gone.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A hundred thousand exchanges take no more memory than a few do: a block to
// write, a block to read, and what zstd needs for itself.
func TestAHundredThousandExchangesTakeFlatMemory(t *testing.T) {
	const total, bound = 100_000, 24 << 20
	dir := t.TempDir()
	before := live()
	grown := func(doing string, n int) {
		if n%20_000 != 0 {
			return
		}
		if now := live(); now > before+bound {
			t.Fatalf("%s: %d MiB more are held after %d exchanges", doing, (now-before)>>20, n)
		}
	}
	w := create(t, dir, Options{SegmentBytes: 256 << 10})
	for i := range total {
		fatal.If(t, w.Append(exchange(i)))
		grown("writing", i)
	}
	finish(t, w)

	r := open(t, dir)
	n := 0
	for range entries(t, r, Filter{}) {
		grown("reading", n)
		n++
	}
	if n != total || r.Damages() != nil {
		t.Fatalf("%d exchanges, %+v", n, r.Damages())
	}
	l, err := List(context.Background(), dir)
	if err != nil || l.Entries != total || len(l.Rows) != 2 || l.Segments < 3 {
		t.Errorf("%+v, %v", l, err)
	}
	if testing.Verbose() {
		t.Logf("%d exchanges: %d MiB, %d MiB on the disk in %d segments", n, l.Unpacked>>20, l.Bytes>>20, l.Segments)
	}
}

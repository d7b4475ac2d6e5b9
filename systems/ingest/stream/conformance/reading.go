package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"whittle"
	"whittle/systems/ingest/stream"
)

// fill appends n records of a few keys, and gives their ids.
func fill(t *testing.T, st stream.Stream, n int) (ids []string, at []stream.Position) {
	t.Helper()
	var records []stream.Record
	for i := range n {
		r := numbered(fmt.Sprint("key", i%3), i/3)
		records = append(records, r)
		ids = append(ids, r.ID)
		if len(records) == 7 || i == n-1 {
			at = append(at, keep(t, st, records...)...)
			records = records[:0]
		}
	}
	return ids, at
}

func (s *suite) everyPosition(t *testing.T) {
	st := s.open(t)
	ids, _ := fill(t, st, min(40, max(10, s.scale/10)))
	for name, entries := range readAll(t, st, ids...) {
		for i, e := range entries {
			r := reader(t, st, e.Position)
			for _, want := range entries[i:min(len(entries), i+9)] {
				if got := next(t, r); got.ID != want.ID || got.Position != want.Position {
					t.Fatalf("from %v: %q at %v, want %q at %v", e.Position, got.ID, got.Position, want.ID, want.Position)
				}
			}
		}
		if got := next(t, reader(t, st, stream.Position{Partition: name})); got.ID != entries[0].ID {
			t.Errorf("the beginning of %q is %q, want %q", name, got.ID, entries[0].ID)
		}
	}
	if r, err := st.Read(t.Context(), stream.Position{Partition: "there is none such"}); err == nil {
		_ = r.Close() // it should not be there
		t.Error("a partition that is not there was opened")
	}
}

// nextWaits reads at the end of every partition before anything is appended:
// the record comes to one of the readers, and to no other.
func (s *suite) nextWaits(t *testing.T) {
	st := s.open(t)
	parts, err := st.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	came := make(chan stream.Entry, len(parts))
	var readers sync.WaitGroup
	for _, p := range parts {
		r := reader(t, st, p.Next)
		readers.Go(func() {
			into := make([]stream.Entry, 4)
			n, err := r.Next(ctx, into)
			for _, e := range into[:n] {
				came <- e
			}
			if err != nil && !ended(err) {
				t.Errorf("next of %q: %v", p.Name, err)
			}
		})
	}
	at := keep(t, st, record("awaited", "k", []byte("v")))
	select {
	case e := <-came:
		if e.ID != "awaited" || e.Position != at[0] {
			t.Errorf("%q at %v, want it at %v", e.ID, e.Position, at[0])
		}
	case <-ctx.Done():
		t.Error("nothing came")
	}
	cancel()
	readers.Wait()
	if len(came) > 0 {
		t.Error("it came twice")
	}
}

func (s *suite) nextEnds(t *testing.T) {
	st := s.open(t)
	parts, err := st.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]stream.Reader{}
	for _, p := range parts {
		readers[p.Name] = reader(t, st, p.First)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := readers[p.Name].Next(ctx, make([]stream.Entry, 1))
			gone <- err
		}()
		cancel()
		if err := <-gone; !ended(err) {
			t.Errorf("next of %q: %v", p.Name, err)
		}
	}
	at := keep(t, st, record("later", "k", []byte("v")))
	if e := next(t, readers[at[0].Partition]); e.ID != "later" {
		t.Errorf("%q came after a Next that had ended", e.ID)
	}
}

// severalReaders read one partition at the same time while it grows, each in
// its own steps.
func (s *suite) severalReaders(t *testing.T) {
	st := s.open(t)
	count := max(20, s.scale/4)
	at := keep(t, st, numbered("one", 0))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, step := range []int{1, 3, 64} {
		r := reader(t, st, at[0])
		wg.Go(func() {
			into := make([]stream.Entry, step)
			for seen := 0; seen < count; {
				n, err := r.Next(ctx, into)
				if err != nil || n < 1 {
					t.Errorf("in steps of %d: %d entries, %v", step, n, err)
					return
				}
				for i := range into[:n] {
					want := numbered("one", seen)
					if d := differ(&into[i].Record, &want); d != "" {
						t.Errorf("in steps of %d, record %d: %s", step, seen, d)
						return
					}
					seen++
				}
			}
		})
	}
	for n := 1; n < count; {
		var records []stream.Record
		for range min(1+n%13, count-n) {
			records = append(records, numbered("one", n))
			n++
		}
		keep(t, st, records...)
	}
	wg.Wait()
}

// corrupt appends a record that is not what it was sealed as: it is refused as
// surely not kept, or reading names it and goes on behind it.
func (s *suite) corrupt(t *testing.T) {
	st := s.open(t)
	bad := record("bad", "k", []byte("a value"))
	bad.Sum ^= 1 << 7
	from := keep(t, st, record("before", "k", []byte("v")))
	result := st.Append(t.Context(), []stream.Record{bad})[0]
	keep(t, st, record("behind", "k", []byte("v")))
	r := reader(t, st, from[0])
	if e := next(t, r); e.ID != "before" {
		t.Fatalf("%q came first", e.ID)
	}
	switch code := codeOf(result.Err); code {
	case -1:
		named(t, r, result.Position)
	case whittle.Invalid, whittle.Unavailable:
	default:
		t.Errorf("not refused for sure: %v", result.Err)
	}
	if e := next(t, r); e.ID != "behind" {
		t.Errorf("%q came behind it", e.ID)
	}
}

// named wants the next record to be a corrupt one at a position.
func named(t *testing.T, r stream.Reader, at stream.Position) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	n, err := r.Next(ctx, make([]stream.Entry, 1))
	broken, ok := errors.AsType[*stream.CorruptError](err)
	if n != 0 || !ok || broken.Position != at || broken.Reason == "" {
		t.Fatalf("%d entries and %v; want corruption at %v", n, err, at)
	}
}

func (s *suite) damaged(t *testing.T) {
	st := s.open(t)
	ids, _ := fill(t, st, 30)
	for name, entries := range readAll(t, st, ids...) {
		if len(entries) < 3 {
			continue
		}
		bad := entries[len(entries)/2]
		after := s.damage(t, st, bad.Position)
		if after != st {
			closing(t, after)
		}
		r := reader(t, after, stream.Position{Partition: name})
		for _, want := range entries {
			if want.Position == bad.Position {
				named(t, r, bad.Position)
			} else if got := next(t, r); got.ID != want.ID {
				t.Fatalf("%q was read, want %q", got.ID, want.ID)
			}
		}
		return
	}
	t.Fatal("no partition has three records")
}

func (s *suite) trim(t *testing.T) {
	st := s.open(t)
	ids, _ := fill(t, st, 30)
	for name, entries := range readAll(t, st, ids...) {
		if len(entries) < 3 {
			continue
		}
		half := len(entries) / 2
		running := reader(t, st, entries[0].Position)
		err := st.Trim(t.Context(), entries[half].Position)
		if codeOf(err) == whittle.Unsupported {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, err := st.Partitions(t.Context())
		at := slices.IndexFunc(parts, func(p stream.Partition) bool { return p.Name == name })
		if err != nil || at < 0 || stream.CompareOffsets(entries[half].Position.Offset, parts[at].First.Offset) < 0 {
			t.Fatalf("partitions after the trim: %+v, %v", parts, err)
		}
		for _, r := range []stream.Reader{running, reader(t, st, entries[1].Position), reader(t, st, entries[half].Position)} {
			e := next(t, r)
			for stream.CompareOffsets(e.Position.Offset, entries[half].Position.Offset) < 0 {
				e = next(t, r)
			}
			for i, want := range entries[half:] {
				if i > 0 {
					e = next(t, r)
				}
				if d := differ(&e.Record, &want.Record); d != "" {
					t.Fatalf("behind the trim: %s", d)
				}
			}
		}
		keep(t, st, numbered("after", 0))
		return
	}
	t.Fatal("no partition has three records")
}

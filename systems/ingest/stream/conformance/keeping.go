package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

func (s *suite) empty(t *testing.T) {
	st := s.open(t)
	if st.Durability() == "" {
		t.Error("it names no durability")
	}
	if st.Limit() < 64<<10 {
		t.Errorf("it takes records of %d bytes only", st.Limit())
	}
	parts, err := st.Partitions(t.Context())
	if err != nil || len(parts) == 0 {
		t.Fatalf("partitions: %v, %v", parts, err)
	}
	if !slices.IsSortedFunc(parts, func(a, b stream.Partition) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("not by name: %+v", parts)
	}
	for _, p := range parts {
		if p.First.Partition != p.Name || p.Next.Partition != p.Name {
			t.Errorf("positions of another partition: %+v", p)
		}
		if p.Next.Offset != "" && p.First != p.Next {
			t.Errorf("not empty: %+v", p)
		}
	}
	if got := st.Append(t.Context(), nil); len(got) != 0 {
		t.Errorf("%d results of no record", len(got))
	}
}

func (s *suite) roundTrip(t *testing.T) {
	st := s.open(t)
	random := rand.New(rand.NewPCG(7, 7))
	records := []stream.Record{
		record("empty", "k", nil),
		record("zeros", "k", make([]byte, 8<<10)),
		record("", "", []byte("neither id nor key, but known by its value")),
		{ID: "times", Time: time.Unix(-86_400, 1).UTC(), Value: []byte("before 1970, no header")},
		{ID: "headers", Key: "k", Time: time.Unix(0, 0).UTC(), Value: []byte("v"), Header: []stream.Header{
			{Name: "", Value: ""}, {Name: "x", Value: "second of two"}, {Name: "X", Value: "other case"}, {Name: "x", Value: "\x00\r\n\xff"},
		}},
		{ID: strings.Repeat("\xfe", stream.MaxID), Key: strings.Repeat("\x00", stream.MaxKey), Time: time.Unix(0, 1).UTC(), Value: []byte("bounds")},
		{ID: "many", Time: time.Unix(0, 2).UTC(), Value: []byte("headers"), Header: make([]stream.Header, stream.MaxHeaders)},
	}
	for i, size := range []int{1, 2, 3, 100, 511, 512, 513, 1000, 4095, 4096, 4097, 20_000, 50_000} {
		records = append(records, record(fmt.Sprint("random-", i), fmt.Sprint("user-", i%4), randomBytes(random, size)))
	}
	want := map[string]stream.Record{}
	var ids []string
	for i := range records {
		records[i].Seal()
		want[records[i].ID] = records[i]
		ids = append(ids, records[i].ID)
	}
	where := map[string]stream.Position{}
	for i, p := range keep(t, st, records...) {
		where[records[i].ID] = p
	}
	count := 0
	for _, entries := range readAll(t, st, ids...) {
		for i := range entries {
			e := &entries[i]
			count++
			w := want[e.ID]
			if d := differ(&e.Record, &w); d != "" {
				t.Errorf("%q: %s", e.ID, d)
			}
			if e.Position != where[e.ID] {
				t.Errorf("%q is at %v, the result said %v", e.ID, e.Position, where[e.ID])
			}
		}
	}
	if count != len(records) {
		t.Errorf("%d records read, %d appended", count, len(records))
	}
}

// memory holds that what a caller does with its bytes after Append returned
// does not reach what was kept.
func (s *suite) memory(t *testing.T) {
	st := s.open(t)
	value := []byte("as it was")
	records := []stream.Record{record("a", "k", value)}
	at := keep(t, st, records...)
	copy(value, "scribbled")
	records[0].Header[0].Value = "scribbled"
	records[0].ID = "scribbled"
	if e := next(t, reader(t, st, at[0])); e.ID != "a" || string(e.Value) != "as it was" || e.Header[0].Value != "application/json" {
		t.Errorf("kept: %+v %s", e, e.Value)
	}
}

func (s *suite) bounds(t *testing.T) {
	st := s.open(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	headers := record("headers", "d", []byte("v"))
	headers.Header = make([]stream.Header, stream.MaxHeaders+1)
	records := []stream.Record{
		record("first", "a", []byte("kept")),
		record(long(stream.MaxID+1), "b", []byte("v")),
		record("key", long(stream.MaxKey+1), []byte("v")),
		headers,
		record("large", "e", make([]byte, st.Limit()+1)),
		record("last", "f", []byte("kept")),
	}
	results := st.Append(t.Context(), records)
	if len(results) != len(records) {
		t.Fatalf("%d results of %d records", len(results), len(records))
	}
	for i, want := range []whittle.Code{-1, whittle.Invalid, whittle.Invalid, whittle.Invalid, whittle.Invalid, -1} {
		if codeOf(results[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i, results[i].Err, want)
		}
	}
	total := 0
	for _, entries := range readAll(t, st, "first", "last") {
		total += len(entries)
	}
	if total != 2 {
		t.Errorf("%d records are there, 2 were kept", total)
	}
}

func (s *suite) largest(t *testing.T) {
	st := s.open(t)
	if st.Limit() > 64<<20 {
		t.Fatalf("records of %d bytes are too much for a test: give the suite a stream of a lower limit", st.Limit())
	}
	r := record("largest", "k", nil)
	r.Value = randomBytes(rand.New(rand.NewPCG(1, 1)), st.Limit()-stream.EncodedLen(&r))
	r.Seal()
	over := record("over", "o", append(slices.Clone(r.Value), make([]byte, 64)...))
	results := st.Append(t.Context(), []stream.Record{r, over})
	if results[0].Err != nil || codeOf(results[1].Err) != whittle.Invalid {
		t.Fatalf("at the limit: %v; over it: %v", results[0].Err, results[1].Err)
	}
	e := next(t, reader(t, st, results[0].Position))
	if d := differ(&e.Record, &r); d != "" {
		t.Error(d)
	}
}

// refusedKey holds that a record which was refused is not passed by a later one
// of its key in the same call.
func (s *suite) refusedKey(t *testing.T) {
	st := s.open(t)
	results := st.Append(t.Context(), []stream.Record{
		record("1", "a", []byte("kept")), record("2", "a", make([]byte, st.Limit()+1)), record("3", "a", []byte("behind it")),
		record("4", "b", []byte("another key")), record("5", "", []byte("no key")),
	})
	for i, want := range []whittle.Code{-1, whittle.Invalid, whittle.Unavailable, -1, -1} {
		if codeOf(results[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i+1, results[i].Err, want)
		}
	}
	for _, entries := range readAll(t, st, "1", "4", "5") {
		for _, e := range entries {
			if e.ID == "2" || e.ID == "3" {
				t.Errorf("%q was kept", e.ID)
			}
		}
	}
}

// book is what several writers know of what they appended.
type book struct {
	mu  sync.Mutex // guards the following
	ids []string   // of what was kept
	at  map[string]stream.Position
}

// append appends records, notes those that are kept, and gives the errors of the others.
// None is kept behind one of its key that was not.
func (b *book) append(ctx context.Context, t *testing.T, st stream.Stream, records ...stream.Record) (errs []error) {
	failed := map[string]bool{}
	for i, r := range st.Append(ctx, records) {
		id, key := records[i].ID, records[i].Key
		if r.Err != nil {
			errs, failed[key] = append(errs, r.Err), true
			continue
		}
		if failed[key] {
			t.Errorf("%q was kept behind one of its key that was not", id)
		}
		b.mu.Lock()
		b.ids = append(b.ids, id)
		b.at[id] = r.Position
		b.mu.Unlock()
	}
	return errs
}

// orderByKey appends from several goroutines, each to keys of its own.
func (s *suite) orderByKey(t *testing.T) {
	st := s.open(t)
	const writers, keys, batch = 8, 3, 10
	rounds := max(2, s.scale/(writers*batch))
	var wg sync.WaitGroup
	kept := book{at: map[string]stream.Position{}}
	for w := range writers {
		wg.Go(func() {
			n := 0
			for range rounds {
				records := make([]stream.Record, batch)
				for i := range records {
					records[i] = numbered(fmt.Sprintf("w%d.k%d", w, n%keys), n/keys)
					n++
				}
				if errs := kept.append(t.Context(), t, st, records...); errs != nil {
					t.Error(errs)
					return
				}
			}
		})
	}
	wg.Wait()
	inOrder(t, readAll(t, st, kept.ids...), kept.at)
}

func (s *suite) oneByOne(t *testing.T) {
	st := s.open(t)
	const writers = 32
	each := max(2, s.scale/4/writers)
	var wg sync.WaitGroup
	kept := book{at: map[string]stream.Position{}}
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if errs := kept.append(t.Context(), t, st, numbered(fmt.Sprint("u", w), n)); errs != nil {
					t.Error(errs)
					return
				}
			}
		})
	}
	wg.Wait()
	inOrder(t, readAll(t, st, kept.ids...), kept.at)
}

// inOrder holds entries to the order of their keys, to growing offsets and to
// the positions that their appends were acknowledged with.
func inOrder(t *testing.T, parts map[string][]stream.Entry, at map[string]stream.Position) {
	t.Helper()
	home := map[string]string{}
	count := map[string]int{}
	for name, entries := range parts {
		last := ""
		for _, e := range entries {
			if e.Position.Partition != name || stream.CompareOffsets(last, e.Position.Offset) >= 0 {
				t.Fatalf("offset %v behind %q in partition %q", e.Position, last, name)
			}
			last = e.Position.Offset
			if where, ok := home[e.Key]; ok && where != name {
				t.Fatalf("key %q is in %q and in %q", e.Key, where, name)
			}
			home[e.Key] = name
			if want := fmt.Sprintf("%s-%d", e.Key, count[e.Key]); e.ID != want {
				t.Fatalf("%q was read where %q is next", e.ID, want)
			}
			count[e.Key]++
			if e.Position != at[e.ID] {
				t.Fatalf("%q is at %v, its append said %v", e.ID, e.Position, at[e.ID])
			}
		}
	}
}

func (s *suite) appendEnded(t *testing.T) {
	st := s.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results := st.Append(ctx, []stream.Record{numbered("k", 0), numbered("k", 1)})
	if len(results) != 2 {
		t.Fatalf("%d results of 2 records", len(results))
	}
	for _, r := range results {
		if r.Err != nil && !ended(r.Err) {
			t.Error(r.Err)
		}
	}
	keep(t, st, numbered("other", 0))
}

// appendMidway ends contexts while their appends are under way: each result is
// one or the other, and what was acknowledged is there.
func (s *suite) appendMidway(t *testing.T) {
	st := s.open(t)
	var wg sync.WaitGroup
	kept := book{at: map[string]stream.Position{}}
	rounds := max(3, s.scale/100)
	for w := range 4 {
		wg.Go(func() {
			for n := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				going := make(chan struct{})
				go func() {
					<-going
					cancel()
				}()
				records := []stream.Record{numbered(fmt.Sprint("m", w), 2*n), numbered(fmt.Sprint("m", w), 2*n+1)}
				close(going)
				for _, err := range kept.append(ctx, t, st, records...) {
					if !ended(err) {
						t.Error(err)
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	keep(t, st, record("after", "after", []byte("it still works")))
	readAll(t, st, append(kept.ids, "after")...)
}

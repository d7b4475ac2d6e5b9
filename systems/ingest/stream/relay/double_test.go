package relay

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// fakeStore is what a double keeps. It outlives the doubles that are open on it.
type fakeStore struct {
	mu    sync.Mutex // guards the following
	parts [][]stream.Record
	first []int
	grown chan struct{}
}

func newFakeStore(partitions int) *fakeStore {
	return &fakeStore{parts: make([][]stream.Record, partitions), first: make([]int, partitions), grown: make(chan struct{})}
}

func (s *fakeStore) put(r stream.Record) stream.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := fnv.New32a()
	h.Write([]byte(r.Key))
	p := int(h.Sum32() % uint32(len(s.parts)))
	r.Value = bytes.Clone(r.Value)
	r.Header = append([]stream.Header(nil), r.Header...)
	s.parts[p] = append(s.parts[p], r)
	close(s.grown)
	s.grown = make(chan struct{})
	return stream.Position{Partition: strconv.Itoa(p), Offset: strconv.Itoa(len(s.parts[p]) - 1)}
}

// all is every record, partition after partition.
func (s *fakeStore) all() []stream.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []stream.Record
	for _, p := range s.parts {
		all = append(all, p...)
	}
	return all
}

// faults are what a double does wrong, by chances out of 1 for each call.
type faults struct {
	refuse  float64 // Unavailable, nothing kept
	partial float64 // some keys fail, surely not kept
	vanish  float64 // DeadlineExceeded; a part was kept
	hang    float64 // until the context ends; a part was kept
	lag     time.Duration
	// poison says which records are Invalid.
	poison func(*stream.Record) bool
}

// fakeSink is a stream in memory.
type fakeSink struct {
	*fakeStore
	limit int
	bare  bool // it tells no end and cannot be trimmed, as Kinesis

	mu     sync.Mutex // guards the following
	random *rand.Rand
	faults faults
	down   error
	closed bool
	calls  int
	blind  bool
	full   error
	holds  int // how many records there is room for, a byte each; 0: plenty
}

func newFakeSink(s *fakeStore, seed uint64, f faults) *fakeSink {
	return &fakeSink{fakeStore: s, limit: 1 << 20, random: rand.New(rand.NewPCG(seed, 1)), faults: f}
}

func (d *fakeSink) setDown(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = err
}

func (d *fakeSink) called() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

func (d *fakeSink) Durability() stream.Durability { return stream.LocalFsync }
func (d *fakeSink) Limit() int                    { return d.limit }

func (d *fakeSink) Append(ctx context.Context, records []stream.Record) []stream.Result {
	d.mu.Lock()
	d.calls++
	f, down, dice, split := d.faults, d.down, d.random.Float64(), d.random.Float64()
	salt := d.random.Uint32()
	if d.closed {
		down = whittle.Errorf(whittle.Unavailable, "closed")
	}
	d.mu.Unlock()
	results := make([]stream.Result, len(records))
	fail := func(err error) []stream.Result {
		for i := range results {
			if results[i].Err == nil {
				results[i] = stream.Result{Err: err}
			}
		}
		return results
	}
	if down != nil {
		return fail(down)
	}
	if f.lag > 0 && !notify.Sleep(ctx, f.lag) {
		return fail(whittle.Errorf(whittle.Canceled, "append: %w", ctx.Err()))
	}
	gone := func(r *stream.Record) bool { // by key, so that no record passes another
		h := fnv.New32a()
		fmt.Fprint(h, salt, r.Key)
		if r.Key == "" {
			fmt.Fprint(h, r.ID)
		}
		return float64(h.Sum32()%1000)/1000 < split
	}
	kept := func(fails func(*stream.Record) bool, code whittle.Code) {
		invalid := map[string]bool{}
		for i := range records {
			r := &records[i]
			switch {
			case r.Key != "" && invalid[r.Key]:
				results[i].Err = whittle.Errorf(whittle.Unavailable, "an earlier record of its key failed")
			case f.poison != nil && f.poison(r):
				invalid[r.Key] = true
				results[i].Err = whittle.Errorf(whittle.Invalid, "poison")
			case fails(r):
				results[i].Err = whittle.Errorf(code, "not this one")
			default:
				results[i].Position = d.put(*r)
			}
		}
	}
	none := func(*stream.Record) bool { return false }
	switch {
	case dice < f.refuse:
		return fail(whittle.Errorf(whittle.ResourceExhausted, "throttled"))
	case dice < f.refuse+f.partial:
		kept(gone, whittle.Unavailable)
	case dice < f.refuse+f.partial+f.vanish:
		kept(gone, whittle.Unavailable)
		results = make([]stream.Result, len(records))
		return fail(whittle.Errorf(whittle.DeadlineExceeded, "no response"))
	case dice < f.refuse+f.partial+f.vanish+f.hang:
		<-ctx.Done()
		kept(gone, whittle.Unavailable)
		results = make([]stream.Result, len(records))
		return fail(whittle.Errorf(whittle.Canceled, "append: %w", ctx.Err()))
	default:
		kept(none, whittle.Internal)
	}
	return results
}

func (d *fakeSink) Partitions(context.Context) ([]stream.Partition, error) {
	d.mu.Lock()
	down, blind := d.down, d.blind
	d.mu.Unlock()
	if down != nil {
		return nil, down
	}
	if blind {
		return nil, whittle.Errorf(whittle.Unsupported, "it cannot be read")
	}
	d.fakeStore.mu.Lock()
	defer d.fakeStore.mu.Unlock()
	var parts []stream.Partition
	for i, p := range d.parts {
		name := strconv.Itoa(i)
		part := stream.Partition{
			Name:  name,
			First: stream.Position{Partition: name, Offset: strconv.Itoa(d.first[i])},
			Next:  stream.Position{Partition: name, Offset: strconv.Itoa(len(p))},
		}
		if d.bare {
			part.Next.Offset = ""
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (d *fakeSink) Read(_ context.Context, from stream.Position) (stream.Reader, error) {
	d.mu.Lock()
	down := d.down
	d.mu.Unlock()
	if down != nil {
		return nil, down
	}
	p, err := strconv.Atoi(from.Partition)
	if err != nil || p >= len(d.parts) {
		return nil, whittle.Errorf(whittle.NotFound, "no partition %q", from.Partition)
	}
	n := 0
	if from.Offset != "" {
		if n, err = strconv.Atoi(from.Offset); err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "offset: %w", err)
		}
	}
	return &fakeReader{d: d, p: p, next: n}, nil
}

func (d *fakeSink) Trim(_ context.Context, before stream.Position) error {
	if d.bare {
		return whittle.Errorf(whittle.Unsupported, "it has its own retention")
	}
	p, _ := strconv.Atoi(before.Partition)
	n, _ := strconv.Atoi(before.Offset)
	d.fakeStore.mu.Lock()
	defer d.fakeStore.mu.Unlock()
	d.first[p] = max(d.first[p], n)
	return nil
}

func (d *fakeSink) Capacity() stream.Capacity {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return stream.Capacity{Err: whittle.Errorf(whittle.Unavailable, "closed")}
	}
	if d.holds == 0 {
		return stream.Capacity{Free: 1 << 30, Err: d.full}
	}
	d.fakeStore.mu.Lock()
	defer d.fakeStore.mu.Unlock()
	return stream.Capacity{Free: int64(d.holds - len(d.parts[0]) + d.first[0]), Err: d.full}
}

func (d *fakeSink) Close(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

type fakeReader struct {
	d       *fakeSink
	p, next int
}

func (r *fakeReader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	for {
		s := r.d.fakeStore
		s.mu.Lock()
		r.next = max(r.next, s.first[r.p])
		n := 0
		for n < len(into) && r.next < len(s.parts[r.p]) {
			rec := s.parts[r.p][r.next]
			at := stream.Position{Partition: strconv.Itoa(r.p), Offset: strconv.Itoa(r.next)}
			if !rec.Intact() {
				if n > 0 {
					break
				}
				r.next++
				s.mu.Unlock()
				return 0, &stream.CorruptError{Position: at, Reason: "its checksum"}
			}
			into[n] = stream.Entry{Record: rec, Position: at}
			n++
			r.next++
		}
		grown := s.grown
		s.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return 0, whittle.Errorf(whittle.DeadlineExceeded, "next: %w", ctx.Err())
		}
	}
}

func (r *fakeReader) Close() error { return nil }

// event makes record n of a key, or one without a key.
func event(key string, n int) stream.Record {
	id := fmt.Sprintf("%s.%d", key, n)
	r := stream.Record{
		ID: id, Key: key, Time: time.Now(), Value: []byte("value of " + id),
		Header: []stream.Header{{Name: "Type", Value: "test"}},
	}
	r.Seal()
	return r
}

func mustAppend(t *testing.T, s stream.Stream, records ...stream.Record) {
	t.Helper()
	for i, r := range s.Append(t.Context(), records) {
		if r.Err != nil {
			t.Fatalf("record %d: %v", i, r.Err)
		}
	}
}

// folder is one in memory where the system has such, because a simulation of
// hours does not wait for a disk.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "relay-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

package relay

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

// fakeStore is what a double keeps. It outlives the doubles that are open on it.
type fakeStore struct {
	mu    sync.Mutex // guards the following
	kept  []stream.Record
	first int
	hold  uint64
	grown chan struct{}
}

func newFakeStore() *fakeStore { return &fakeStore{grown: make(chan struct{})} }

func (s *fakeStore) put(r stream.Record) stream.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Value = bytes.Clone(r.Value)
	r.Header = append([]stream.Header(nil), r.Header...)
	s.kept = append(s.kept, r)
	close(s.grown)
	s.grown = make(chan struct{})
	return at(len(s.kept) - 1)
}

func at(n int) stream.Position {
	return stream.Position{Partition: "0", Offset: strconv.Itoa(n)}
}

// all is every record that was ever kept.
func (s *fakeStore) all() []stream.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// entries is what a ledger audits.
func (s *fakeStore) entries() map[string][]stream.Entry {
	var all []stream.Entry
	for i, r := range s.all() {
		all = append(all, stream.Entry{Record: r, Position: at(i)})
	}
	return map[string][]stream.Entry{"0": all}
}

// faults are what a double does wrong, by chances out of 1 for each call.
type faults struct {
	refuse  float64 // Unavailable, nothing kept
	partial float64 // some keys fail, surely not kept
	vanish  float64 // DeadlineExceeded; a part was kept
	hang    float64 // until the context ends; a part was kept
	lag     time.Duration
	// fate is the error of a record that fails each time; nil: none does.
	fate func(*stream.Record) error
}

// fakeSink is a stream in memory.
type fakeSink struct {
	*fakeStore
	limit int

	mu     sync.Mutex // guards the following
	random *rand.Rand
	faults faults
	down   error
	closed bool
	calls  int
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
			case f.fate != nil && f.fate(r) != nil:
				results[i].Err = f.fate(r)
				invalid[r.Key] = whittle.CodeOf(results[i].Err) == whittle.Invalid
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
	return stream.Capacity{Free: int64(d.holds - len(d.kept) + d.first), Err: d.full}
}

func (d *fakeSink) Close(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// fakeLog is a Log in memory.
type fakeLog struct{ *fakeSink }

func newFakeLog(s *fakeStore) *fakeLog { return &fakeLog{newFakeSink(s, 0, faults{})} }

func (l *fakeLog) AppendCopy(ctx context.Context, records []stream.Record, _ func()) []stream.Result {
	return l.Append(ctx, records)
}

func (l *fakeLog) Bounds() (first, next uint64, err error) {
	l.fakeStore.mu.Lock()
	defer l.fakeStore.mu.Unlock()
	return uint64(l.first), uint64(len(l.kept)), nil
}

func (l *fakeLog) Trim(before uint64) error {
	l.fakeStore.mu.Lock()
	defer l.fakeStore.mu.Unlock()
	l.first = max(l.first, int(before))
	return nil
}

func (l *fakeLog) Hold(from uint64) {
	l.fakeStore.mu.Lock()
	defer l.fakeStore.mu.Unlock()
	l.hold = from
}

func (l *fakeLog) Follow(ctx context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	for {
		s := l.fakeStore
		s.mu.Lock()
		from = max(from, uint64(s.first))
		read, grown := s.kept[from:], s.grown
		s.mu.Unlock()
		for _, r := range read {
			e := stream.Entry{Record: r, Position: at(int(from))}
			e.Value = bytes.Clone(r.Value)
			var err error
			if r.Intact() {
				err = visit(&e)
			} else {
				err = corrupt(&stream.CorruptError{Position: e.Position, Reason: "its checksum"})
			}
			clear(e.Value) // the reader's memory
			if err != nil {
				return err
			}
			from++
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return stream.Ended(ctx, "follow")
		}
	}
}

// event makes record n of a key, or one without a key.
func event(key string, n int) stream.Record {
	id := fmt.Sprintf("%s.%d", key, n)
	r := streamtest.Record(id, key, "value of "+id)
	r.Time = time.Now()
	return r
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

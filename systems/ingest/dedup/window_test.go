package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle/internal/fatal"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(n int) stream.Position { return stream.Position{Partition: "0", Offset: strconv.Itoa(n)} }

// claim claims one id, settle settles it.
func claim(w *dedup.Window, id dedup.ID, now time.Time) dedup.Claim {
	return w.Claim([]dedup.ID{id}, now, nil)[0]
}

func settle(w *dedup.Window, id dedup.ID, at stream.Position, received time.Time) {
	w.Settle([]dedup.ID{id}, []stream.Position{at}, received)
}

func TestClaim(t *testing.T) {
	w := dedup.New(dedup.Options{Entries: 10, Age: time.Minute})
	a, b := dedup.Hash("tenant", "a"), dedup.Hash("tenant", "b")
	if c := claim(w, a, start); c.State != dedup.First {
		t.Fatalf("%+v", c)
	}
	waiting := claim(w, a, start)
	if waiting.State != dedup.Pending {
		t.Fatalf("%+v", waiting)
	}
	if c := claim(w, b, start); c.State != dedup.First {
		t.Fatalf("%+v", c)
	}
	settle(w, a, at(7), start)
	if p, kept, err := waiting.Wait(t.Context()); p != at(7) || !kept || err != nil {
		t.Errorf("%v, %v, %v", p, kept, err)
	}
	again := claim(w, a, start.Add(time.Minute))
	if again.State != dedup.Duplicate || again.Position != at(7) {
		t.Errorf("%+v", again)
	}
	if p, kept, err := again.Wait(t.Context()); p != at(7) || !kept || err != nil {
		t.Errorf("waiting for what is known: %v, %v, %v", p, kept, err)
	}
	if c := claim(w, a, start.Add(61*time.Second)); c.State != dedup.First {
		t.Errorf("after its age: %+v", c)
	}
	w.Release([]dedup.ID{b})
	if c := claim(w, b, start); c.State != dedup.First {
		t.Errorf("released: %+v", c)
	}
	w.Release([]dedup.ID{dedup.Hash("", "of nobody")})
	fatal.Same(t, w.Len(), 1, "entries")
}

func TestHash(t *testing.T) {
	seen := map[dedup.ID]string{}
	for _, pair := range [][2]string{{"", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a", "c"}, {"A", "b"}} {
		id := dedup.Hash(pair[0], pair[1])
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %s are one", pair, other)
		}
		seen[id] = fmt.Sprint(pair)
	}
}

func TestWaitersLearnOfARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dedup.New(dedup.Options{})
		id := dedup.Hash("", "a")
		claim(w, id, start)
		var firsts, duplicates atomic.Int64
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				for {
					c := claim(w, id, start)
					if c.State == dedup.First {
						firsts.Add(1)
						settle(w, id, at(3), start)
						return
					}
					if p, kept, err := c.Wait(t.Context()); kept && err == nil && p == at(3) {
						duplicates.Add(1)
						return
					}
				}
			})
		}
		synctest.Wait()
		if firsts.Load()+duplicates.Load() > 0 {
			t.Error("somebody did not wait for the first")
		}
		w.Release([]dedup.ID{id})
		group.Wait()
		if firsts.Load() != 1 || duplicates.Load() != 9 {
			t.Errorf("%d first, %d duplicates", firsts.Load(), duplicates.Load())
		}

		claim(w, dedup.Hash("", "b"), start)
		c := claim(w, dedup.Hash("", "b"), start)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, kept, err := c.Wait(ctx); kept || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", kept, err)
		}
	})
}

// TestKeptOnce: many batches with the same ids, in any order, some of which
// fail: each id is appended once, and everyone learns where it is.
func TestKeptOnce(t *testing.T) {
	const ids, batches = 200, 64
	w := dedup.New(dedup.Options{Entries: 100_000})
	var log sync.Map // id → position
	var next atomic.Int64
	var group sync.WaitGroup
	for b := range batches {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(b), 7))
			todo := r.Perm(ids)
			for len(todo) > 0 {
				hashes := make([]dedup.ID, len(todo))
				for i, id := range todo {
					hashes[i] = dedup.Hash("t", strconv.Itoa(id))
				}
				claims := w.Claim(hashes, start, nil)
				var again []int
				var kept, failed []dedup.ID
				var positions []stream.Position
				for i, id := range todo {
					if claims[i].State != dedup.First {
						continue
					}
					if r.IntN(3) == 0 {
						failed, again = append(failed, hashes[i]), append(again, id)
						continue
					}
					p := at(int(next.Add(1)))
					if was, loaded := log.LoadOrStore(id, p); loaded {
						t.Errorf("%d is at %v, and again at %v", id, was, p)
					}
					kept, positions = append(kept, hashes[i]), append(positions, p)
				}
				w.Settle(kept, positions, start)
				w.Release(failed)
				for i, id := range todo {
					if claims[i].State == dedup.First {
						continue
					}
					p, kept, err := claims[i].Wait(t.Context())
					if was, _ := log.Load(id); kept && was != p || err != nil {
						t.Errorf("%d is at %v, and not at %v (%v)", id, was, p, err)
					}
					if !kept {
						again = append(again, id)
					}
				}
				todo = again
			}
		})
	}
	group.Wait()
	if next.Load() != ids || w.Len() != ids {
		t.Errorf("%d kept, %d known of %d", next.Load(), w.Len(), ids)
	}
}

// TestBounds: the newest ids are known, as many as were asked for, and never more than twice
// as many; and what they take does not grow.
func TestBounds(t *testing.T) {
	const entries = 50_000
	w := dedup.New(dedup.Options{Entries: entries})
	for i := range 6*entries - 1 { // until both generations are full
		id := dedup.Hash("tenant", strconv.Itoa(i))
		claim(w, id, start)
		settle(w, id, at(i), start)
		if i%entries != entries/5 || i < entries {
			continue
		}
		if n := w.Len(); n < entries || n > 2*entries {
			t.Fatalf("%d entries of %d", n, entries)
		}
		for _, back := range []int{0, 1, entries / 2, entries - 1} {
			if c := claim(w, dedup.Hash("tenant", strconv.Itoa(i-back)), start); c.State != dedup.Duplicate || c.Position != at(i-back) {
				t.Fatalf("%d back: %+v", back, c)
			}
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := w.Len()
	runtime.KeepAlive(w)
	w = nil //nolint:wastedassign // for the collector
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (float64(before.HeapAlloc) - float64(after.HeapAlloc)) / float64(n); each > 80 {
		t.Errorf("%.0f bytes an entry", each)
	}
}

// TestAWidePositionIsNotKept: a duplicate on Kinesis is known, without its place.
func TestAWidePositionIsNotKept(t *testing.T) {
	w := dedup.New(dedup.Options{})
	id := dedup.Hash("", "a")
	settle(w, id, stream.Position{Partition: "shardId-000000000000", Offset: "49590338271490256608559692538361571095921575989136588898"}, start)
	if c := claim(w, id, start); c.State != dedup.Duplicate || c.Position != (stream.Position{}) {
		t.Errorf("%+v", c)
	}
}

// log is one that was written, the first record of which has the offset of first.
type log struct {
	first   uint64
	records []stream.Record
	// corrupt is the offset of a record that cannot be read, 0 for none.
	corrupt uint64
	read    int
	end     error // of a walk
}

func (l *log) Bounds() (first, next uint64, err error) {
	return l.first, l.first + uint64(len(l.records)), nil
}

func (l *log) Walk(_ context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	for i := from; i < l.first+uint64(len(l.records)); i++ {
		p := stream.Position{Partition: "0", Offset: fmt.Sprint(i)}
		l.read++
		var err error
		if i == l.corrupt && i > 0 {
			err = corrupt(&stream.CorruptError{Position: p, Reason: "a flipped bit"})
		} else {
			err = visit(&stream.Entry{Record: l.records[i-l.first], Position: p})
		}
		if err != nil {
			return err
		}
	}
	return l.end
}

func tenant(r *stream.Record) string { return r.Key }

func written(from, n int, partition string) []stream.Record {
	records := make([]stream.Record, n)
	for i := range records {
		records[i] = stream.Record{ID: fmt.Sprintf("%s-%d", partition, from+i), Key: "t", Time: start.Add(time.Duration(i) * time.Second)}
	}
	return records
}

func TestRebuild(t *testing.T) {
	l := &log{first: 100, corrupt: 130, records: written(100, 50, "0")}
	l.records[40].ID = ""
	w := dedup.New(dedup.Options{Entries: 25, Age: time.Minute})
	n, err := w.Rebuild(t.Context(), l, tenant, start.Add(49*time.Second))
	fatal.If(t, err)
	// Of the newest 25 one is corrupt, and one has no id.
	if n != 23 || w.Len() != 23 || l.read > 33 || w.Corrupt() != 1 {
		t.Errorf("%d learned, %d known, %d read, %d corrupt", n, w.Len(), l.read, w.Corrupt())
	}
	for i := 125; i < 150; i++ {
		want := dedup.Claim{State: dedup.Duplicate, Position: at(i)}
		if i == 130 || i == 140 {
			want = dedup.Claim{}
		}
		fatal.Same(t, claim(w, dedup.Hash("t", fmt.Sprintf("0-%d", i)), start.Add(49*time.Second)), want, "%d", i)
	}
}

// TestRebuildOfWrongClocks: what a clock that was wrong has stamped is known for as
// long as what came before it, and makes nothing else forgotten.
func TestRebuildOfWrongClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	all := written(0, 6, "0")
	all[2].Time = all[2].Time.Add(year)
	all[3].Time = all[3].Time.Add(-year)
	l := &log{records: all}
	w := dedup.New(dedup.Options{Age: time.Hour})
	now := start.Add(time.Minute)
	if n, err := w.Rebuild(t.Context(), l, tenant, now); n != len(all) || err != nil {
		t.Errorf("%d learned, %v", n, err)
	}
	for i := range all {
		id := dedup.Hash("t", fmt.Sprintf("0-%d", i))
		if c := claim(w, id, now.Add(time.Hour-62*time.Second)); c.State != dedup.Duplicate {
			t.Errorf("%d: %+v", i, c)
		}
		if c := claim(w, id, now.Add(2*time.Hour)); c.State != dedup.First {
			t.Errorf("%d, two hours later: %+v", i, c)
		}
	}
}

func TestRebuildFails(t *testing.T) {
	l := &log{records: written(0, 3, "0"), end: io.ErrUnexpectedEOF}
	if n, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), l, tenant, start); n != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a log that breaks off: %d learned, %v", n, err)
	}
}

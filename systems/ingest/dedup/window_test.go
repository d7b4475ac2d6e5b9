package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

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
	if w.Len() != 1 {
		t.Errorf("%d entries", w.Len())
	}
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

func TestMemory(t *testing.T) {
	const entries = 1 << 17
	allocated := func(do func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / entries
	}
	var w *dedup.Window
	if n := allocated(func() { w = dedup.New(dedup.Options{Entries: entries}) }); n > 40 {
		t.Errorf("%.1f bytes an entry", n)
	}
	fill := func() {
		for i := range 2 * entries {
			id := dedup.Hash("tenant", strconv.Itoa(i))
			claim(w, id, start)
			settle(w, id, stream.Position{Partition: "0", Offset: "17"}, start)
		}
	}
	// Two times as many as it holds: what is allocated on the way is released.
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fill()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("grown by %d bytes while in use", grown)
	}
	if n := w.Len(); n > entries || n < entries*97/100 {
		t.Errorf("%d entries of %d", n, entries)
	}
	wide := stream.Position{Partition: "shardId-000000000000", Offset: "49590338271490256608559692538361571095921575989136588898"}
	ids, positions := make([]dedup.ID, 64*64), make([]stream.Position, 64*64)
	for i := range ids {
		ids[i], positions[i] = dedup.Hash("tenant", strconv.Itoa(-i)), wide
	}
	if n := allocated(func() { w.Settle(ids, positions, start) }); n > 17 {
		t.Errorf("%.1f more bytes an entry for wide offsets", n)
	}
	if c := claim(w, dedup.Hash("tenant", "-4095"), start); c.Position != wide {
		t.Errorf("%+v", c)
	}
}

// BenchmarkClaimAndSettle is of a window that is full, by one id and by a batch.
func BenchmarkClaimAndSettle(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			w := dedup.New(dedup.Options{Entries: 500_000})
			ids, positions := make([]dedup.ID, n), make([]stream.Position, n)
			for i := range positions {
				positions[i] = at(1_000_000 + i)
			}
			r := rand.NewChaCha8([32]byte{})
			var claims []dedup.Claim
			batch := func() {
				for i := range ids {
					_, _ = r.Read(ids[i][:]) // it does not fail
				}
				claims = w.Claim(ids, start, claims[:0])
				w.Settle(ids, positions, start)
			}
			for range 600_000 / n {
				batch()
			}
			b.ReportAllocs()
			for b.Loop() {
				batch()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
		})
	}
}

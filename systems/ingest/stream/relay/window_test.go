package relay

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// TestWindowAgainstAModel adds, takes and settles at random, and holds the
// window to what a plain list says.
func TestWindowAgainstAModel(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 4))
		now := time.Unix(0, 0)
		var w window
		w.next = seed * 10
		begin := w.next
		var all []*item
		for range 400 {
			switch random.IntN(3) {
			case 0:
				for range random.IntN(10) {
					seq := w.next + uint64(random.IntN(2))
					key := ""
					if random.IntN(4) > 0 {
						key = fmt.Sprint(random.IntN(9))
					}
					it := &item{seq: seq, size: 1 + random.IntN(50), record: stream.Record{Key: key}, queue: keyQueueOf(key, seq)}
					it.at.Offset = strconv.FormatUint(seq, 10)
					it.settled = random.IntN(10) == 0
					w.add(it)
					all = append(all, it)
				}
			case 1:
				w.queues[random.IntN(keyQueues)].until = now.Add(time.Duration(random.IntN(3)-1) * time.Second)
			case 2:
				takeAndSettle(t, &w, random, now)
			}
			holds(t, &w, all, begin)
		}
	}
}

func takeAndSettle(t *testing.T, w *window, random *rand.Rand, now time.Time) {
	t.Helper()
	workers := 1 + random.IntN(8)
	worker, records, bytes := random.IntN(workers), 1+random.IntN(20), 1+random.IntN(300)
	batch, until := w.take(worker, workers, now, records, bytes, nil)
	total := 0
	for i, it := range batch {
		total += it.size
		if it.settled || it.queue%workers != worker || w.queues[it.queue].until.After(now) || i > 0 && batch[i-1].seq >= it.seq {
			t.Fatalf("taken: %+v", it)
		}
	}
	if len(batch) > records || total > bytes && len(batch) > 1 {
		t.Fatalf("%d records of %d bytes were taken; bounds %d and %d", len(batch), total, records, bytes)
	}
	if len(batch) == 0 && until.IsZero() {
		for i := worker; i < keyQueues; i += workers {
			if len(w.queues[i].queue) > 0 {
				t.Fatal("nothing was taken, and nobody waits")
			}
		}
	}
	var settled []*item
	for _, it := range batch {
		if random.IntN(3) > 0 {
			settled = append(settled, it)
		}
	}
	w.settle(settled)
}

func holds(t *testing.T, w *window, all []*item, begin uint64) {
	t.Helper()
	low, open, bytes := w.next, 0, 0
	var queue [keyQueues]uint64
	for i := range queue {
		queue[i] = w.next
	}
	for i := len(all) - 1; i >= 0; i-- {
		if it := all[i]; !it.settled {
			low = it.seq
			queue[it.queue] = it.seq
			open++
			bytes += it.size
		}
	}
	if w.low() != low || w.open != open || w.bytes != bytes || low < begin {
		t.Fatalf("low %d, open %d, bytes %d; want %d, %d, %d", w.low(), w.open, w.bytes, low, open, bytes)
	}
	for i, n := range w.settledTo() {
		if n != queue[i] {
			t.Fatalf("queue %d is settled to %d, want %d", i, n, queue[i])
		}
	}
	last := ""
	for _, it := range all {
		if it.seq >= low {
			break
		}
		last = it.at.Offset
	}
	if w.last.Offset != last {
		t.Fatalf("the last below %d is at %q, want %q", low, w.last.Offset, last)
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	for n, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if got := stream.Backoff(n, 100, 1000, 0.999); got != want*999/1000 {
			t.Errorf("attempt %d: %v", n, got)
		}
		if got := stream.Backoff(n, 100, 1000, 0); got != 0 {
			t.Errorf("attempt %d with no luck: %v", n, got)
		}
	}
	if got := stream.Backoff(1000, time.Second, time.Hour, 0.5); got != 30*time.Minute {
		t.Errorf("attempt 1000: %v", got)
	}
}

func TestOffsets(t *testing.T) {
	order := []string{"", "0", "7", "9", "10", "99", "100", "49590338271490256608559692538361571095921575989136588898"}
	for i, a := range order {
		for j, b := range order {
			if got := stream.CompareOffsets(a, b); got > 0 != (i > j) || got < 0 != (i < j) {
				t.Errorf("%q to %q: %d", a, b, got)
			}
		}
	}
	for from, to := range map[string]string{"": "0", "0": "1", "9": "10", "199": "200", "999": "1000"} {
		if got := stream.NextOffset(from); got != to {
			t.Errorf("after %q: %q, want %q", from, got, to)
		}
	}
}

package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle/systems/ingest/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crash ends a relay as a kill does: nothing is saved, and what was in flight
// has an outcome that nobody learns.
func (r *Relay) crash() {
	r.stop()
	r.tasks.Wait()
	r.store.close()
}

// counts reads what a sink has by id, and fails where the first copies of a key
// are out of order.
func counts(t *testing.T, s *fakeStore) map[string]int {
	t.Helper()
	all := map[string]int{}
	last := map[string]int{}
	for _, r := range s.all() {
		if !r.Intact() {
			t.Errorf("%s is not intact", r.ID)
		}
		if all[r.ID]++; all[r.ID] > 1 || r.Key == "" {
			continue
		}
		var n int
		fmt.Sscanf(r.ID[strings.LastIndexByte(r.ID, '.')+1:], "%d", &n)
		if before, ok := last[r.Key]; ok && n < before {
			t.Errorf("%s came behind number %d", r.ID, before)
		}
		last[r.Key] = n
	}
	return all
}

func quick() Limits {
	return Limits{Batch: 20, Inflight: 4, Window: 200, Timeout: 2 * time.Second, Save: 100 * time.Millisecond, BackoffMax: time.Second, IdleTimeout: time.Second}
}

// TestNothingIsLostOverCrashes appends to a relay whose sink fails in every way
// and which is killed at random moments. At the end the sink and the dead
// letters have each record, in order by key, and the sink has none twice.
func TestNothingIsLostOverCrashes(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { overCrashes(t, seed, false) })
		})
	}
}

// TestASinkThatCannotBeReadGetsDoublesAndNothingLess is the same where the sink
// cannot be asked what it has.
func TestASinkThatCannotBeReadGetsDoublesAndNothingLess(t *testing.T) {
	doubles := 0
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { doubles += overCrashes(t, seed, true) })
		})
	}
	if doubles == 0 {
		t.Error("no record came twice: the faults are too mild to show anything")
	}
}

func overCrashes(t *testing.T, seed uint64, blind bool) (doubles int) {
	random := rand.New(rand.NewPCG(seed, 2))
	logs, sinks, deads := newFakeStore(1), newFakeStore(3), newFakeStore(1)
	bad := faults{
		refuse: 0.1, partial: 0.2, vanish: 0.1, hang: 0.05, lag: 5 * time.Millisecond,
		poison: func(r *stream.Record) bool { return strings.HasSuffix(r.ID, "13") },
	}
	dir := folder(t)
	open := func(run uint64, f faults) *Relay {
		sink := newFakeSink(sinks, seed<<8+run, f)
		sink.blind = blind
		r, err := Open(newFakeSink(logs, 0, faults{}), sink, Options{
			Limits: quick(), Dir: dir, Dead: newFakeSink(deads, seed<<8+run, faults{refuse: 0.3, partial: 0.2}), Keep: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	numbers := map[string]int{}
	total := 0
	const runs = 12
	for run := range uint64(runs) {
		r := open(run, bad)
		deadline := time.Now().Add(time.Duration(random.IntN(3000)) * time.Millisecond)
		for time.Now().Before(deadline) {
			var batch []stream.Record
			for range 1 + random.IntN(30) {
				key := fmt.Sprint("k", random.IntN(20))
				if random.IntN(5) == 0 {
					key = ""
				}
				batch = append(batch, event(key, numbers[key]))
				numbers[key]++
				total++
			}
			mustAppend(t, r, batch...)
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		}
		if run%4 == 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2000))*time.Millisecond)
			if err := r.Close(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		} else {
			r.crash()
		}
	}
	r := open(runs, faults{poison: bad.poison})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := counts(t, sinks)
	dead := map[string]int{}
	for _, rec := range deads.all() {
		l, err := ReadDeadLetter(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(l.Record.ID, "13") || l.Reason == "" {
			t.Errorf("letter of %s: %q", l.Record.ID, l.Reason)
		}
		dead[l.Record.ID]++
	}
	for key, n := range numbers {
		for i := range n {
			id := fmt.Sprintf("%s.%d", key, i)
			poisoned := strings.HasSuffix(id, "13")
			switch {
			case poisoned && (dead[id] == 0 || got[id] > 0), !poisoned && got[id] == 0:
				t.Errorf("%s: %d at the sink, %d dead", id, got[id], dead[id])
			case got[id] > 1 && !blind:
				t.Errorf("%s is %d times at the sink", id, got[id])
			}
			doubles += max(0, got[id]-1)
		}
	}
	s := r.Status()
	if s.Reordered != 0 || s.Missing != 0 || s.Corrupt != 0 || s.Lag != 0 || (s.Unreadable != "") != blind {
		t.Errorf("status: %+v", s)
	}
	if !blind && s.Sent+uint64(len(dead)) < uint64(total) {
		t.Errorf("%d sent, %d dead, %d appended", s.Sent, len(dead), total)
	}
	t.Logf("%d records, %d doubles, %d letters; last run spared %d", total, doubles, len(deads.all()), s.Deduplicated)
	return doubles
}

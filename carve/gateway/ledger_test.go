package gateway

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"whittle"
)

func TestLedgerAddsUpInEverySnapshot(t *testing.T) {
	var l ledger
	const workers, each = 8, 5000
	done := make(chan struct{})
	var watching, wg sync.WaitGroup
	watching.Go(func() {
		for {
			s := l.snapshot()
			if s.Total != s.Sum() || s.Pending < 0 {
				t.Errorf("total %d, sum %d, pending %d", s.Total, s.Sum(), s.Pending)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range each {
				var tk ledgerEntry
				l.open(&tk)
				settle := []func(){tk.compared, tk.failed, tk.shed, func() { tk.skip(whittle.SkipSampled) }, func() { tk.skip("judge's own") }}
				// Two goroutines race to settle, as a worker and a shutdown do.
				var race sync.WaitGroup
				race.Go(settle[rng.IntN(len(settle))])
				settle[rng.IntN(len(settle))]()
				race.Wait()
			}
		})
	}
	wg.Wait()
	close(done)
	watching.Wait()
	s := l.snapshot()
	if s.Total != workers*each || s.Pending != 0 || s.Total != s.Sum() {
		t.Errorf("at rest: %+v, want a total of %d and nothing pending", s, workers*each)
	}
}

func TestLedgerContinuesAfterARestart(t *testing.T) {
	var before ledger
	tickets := make([]ledgerEntry, 6)
	for i := range tickets {
		before.open(&tickets[i])
	}
	tickets[0].compared()
	tickets[1].failed()
	tickets[2].shed()
	tickets[3].skip(whittle.SkipNotSafe)
	tickets[4].skip("of the judge")

	var after ledger
	after.restore(before.snapshot())
	var tk ledgerEntry
	after.open(&tk)
	tk.compared()
	got := after.snapshot()
	want := map[string]int64{whittle.SkipNotSafe: 1, "of the judge": 1, whittle.SkipInterrupted: 1}
	if got.Total != 7 || got.Compared != 2 || got.Failed != 1 || got.Shed != 1 || got.Pending != 0 || !maps.Equal(got.Skipped, want) {
		t.Errorf("after the restart: %+v", got)
	}
	if got.Total != got.Sum() {
		t.Errorf("total %d, sum %d", got.Total, got.Sum())
	}
}

func TestLedgerDistrustsADamagedRecord(t *testing.T) {
	var l ledger
	l.restore(whittle.Ledger{Total: 99, Compared: -4, Failed: 2, Pending: -1, Skipped: map[string]int64{"x": -7}})
	if s := l.snapshot(); s.Total != 2 || s.Failed != 2 || s.Total != s.Sum() {
		t.Errorf("%+v, want only the 2 failed", s)
	}
}

func TestLedgerBoundsMadeUpReasons(t *testing.T) {
	var l ledger
	for i := range 1000 {
		var tk ledgerEntry
		l.open(&tk)
		tk.skip(fmt.Sprintf("reason %d", i))
	}
	s := l.snapshot()
	if len(s.Skipped) != maxOtherReasons+1 || s.Skipped[otherReasons] != 1000-maxOtherReasons || s.Total != s.Sum() {
		t.Errorf("%d reasons, %d others", len(s.Skipped), s.Skipped[otherReasons])
	}
}

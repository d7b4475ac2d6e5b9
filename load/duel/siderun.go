package duel

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"whittle/internal/paired"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
)

// blockResult is the result of one block of one target.
type blockResult struct {
	sample paired.Sample // latencies from the intended time, in milliseconds
	report *report.Report
	rate   paired.Share // responses and the seconds they took
}

// sideRun runs the blocks of one target.
type sideRun struct {
	*load.Blocks
	seed   uint64
	blocks []blockResult
}

// runBlock sends one block and waits for its last response. The other target's block
// of the same number makes the same random choices.
func (t *sideRun) runBlock(ctx context.Context, arrivals []plan.Arrival, number uint64) (*blockResult, error) {
	values := &reservoir{rng: rand.New(rand.NewPCG(t.seed, number))}
	r, err := t.Run(ctx, arrivals, number, values.record)
	if err != nil {
		return nil, err
	}
	pause := time.NewTimer(pauseAfterBlock)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	rate := values.rate()
	if r.Model == report.ModelClosed {
		// Closed users all send at once when the block begins, and their first
		// responses come in one burst, so time counts from the beginning.
		rate = paired.Share{Sum: float64(r.Completed), Of: r.Seconds}
	}
	return &blockResult{sample: paired.NewSample(values.kept), report: r, rate: rate}, nil
}

// reservoir keeps at most maxValues of a block's latencies, each with the same
// chance (Vitter's algorithm R).
type reservoir struct {
	mu sync.Mutex
	// The following is guarded by mu.
	rng  *rand.Rand
	kept []float64
	seen int
	// responses, and when the first and the last of them were whole.
	responses   int
	first, last time.Time
}

const maxValues = 1 << 20

func (v *reservoir) record(a load.Result) {
	if a.Status == 0 && a.Failure != report.ErrorTimeout {
		return
	}
	// Half a nanosecond for what a coarse clock calls nothing: a sample's values
	// are above zero.
	ms := max(a.Done.Sub(a.Intended).Seconds()*1e3, 5e-7)
	v.mu.Lock()
	defer v.mu.Unlock()
	if a.Status > 0 {
		if v.responses++; v.responses == 1 || a.Done.Before(v.first) {
			v.first = a.Done
		}
		if a.Done.After(v.last) {
			v.last = a.Done
		}
	}
	v.seen++
	if len(v.kept) < maxValues {
		v.kept = append(v.kept, ms)
		return
	}
	if i := v.rng.IntN(v.seen); i < maxValues {
		v.kept[i] = ms
	}
}

// rate is the block's responses over time, from the first response to the last:
// the plan's rate where the target keeps up, and its throughput where it does not.
func (v *reservoir) rate() paired.Share {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.responses < 2 {
		return paired.Share{}
	}
	return paired.Share{Sum: float64(v.responses - 1), Of: v.last.Sub(v.first).Seconds()}
}

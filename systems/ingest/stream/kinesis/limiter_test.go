package kinesis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// use drives a queue against a shard that takes 1,000 records a second, of which
// others use a part, and gives which part of the rest was used and how many
// records were refused for one that was kept. A call takes latency.
func use(t *testing.T, others float64, bucket bool, waiting, size int, latency time.Duration) (used, bad float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	q := newQueue(limits{records: maxCallRecords, bytes: maxCallBytes}, 64<<20, time.Hour, random.Float64, evenly(1, 0))
	now := time.Unix(1_700_000_000, 0)
	tokens, bytes, last := float64(shardRecords), float64(shardBytes), now
	taken, again, n := 0, 0, 0
	type flying struct {
		call  []*putEntry
		begun time.Time
		done  time.Time
	}
	var calls []flying
	const seconds, warm = 15, 5
	for tick := range seconds * 1000 {
		now = now.Add(time.Millisecond)
		for q.alive < waiting { // there is always more
			of := &appendCall{done: make(chan struct{}), left: 1, results: make([]stream.Result, 1)}
			q.push(of, 0, fmt.Sprint(n), make([]byte, size), now)
			n++
		}
		if bucket {
			tokens = min(shardRecords, tokens+now.Sub(last).Seconds()*shardRecords*(1-others))
			bytes = min(shardBytes, bytes+now.Sub(last).Seconds()*shardBytes*(1-others))
		} else if now.Unix() != last.Unix() {
			tokens, bytes = shardRecords*(1-others), shardBytes*(1-others)
		}
		last = now
		for len(calls) > 0 && !calls[0].done.After(now) {
			c := calls[0]
			calls = calls[1:]
			outcomes := make([]outcome, len(c.call))
			for i := range outcomes {
				if cost := float64(c.call[i].size); tokens >= 1 && bytes >= cost {
					tokens, bytes = tokens-1, bytes-cost
					outcomes[i] = outcome{disposition: kept, shard: q.shards.open[0].id, sequence: "1"}
					if tick > warm*1000 {
						taken++
					}
					continue
				}
				outcomes[i] = outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "slow down")}
				if tick > warm*1000 {
					again++
				}
			}
			q.settle(c.call, outcomes, c.begun, now)
		}
		if len(calls) < 16 {
			if call := q.pack(now); call != nil {
				calls = append(calls, flying{call, now, now.Add(latency)})
			}
		}
	}
	most := min(shardRecords, float64(shardBytes)/float64(size+10)) * (1 - others)
	return float64(taken) / ((seconds - warm) * most), float64(again) / float64(taken)
}

// TestAThrottledShardIsUsed simulates a saturated shard: whether Kinesis counts by
// seconds or by a bucket, and whatever waits, a shard that nobody else writes to
// is used to 97 % and more of its limit, and one of which others use half to 85 %
// and more of the rest.
func TestAThrottledShardIsUsed(t *testing.T) {
	for _, others := range []float64{0, 0.5} {
		for _, bucket := range []bool{false, true} {
			for _, waiting := range []int{64, 3000} {
				for _, size := range []int{300, 20_000} {
					for _, latency := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond} {
						used, again := use(t, others, bucket, waiting, size, latency)
						about := fmt.Sprintf("others use %.0f %%, a bucket: %v, %d records of %d bytes wait, calls take %v: %.1f %% used, %.2f refused for one kept", 100*others, bucket, waiting, size, latency, 100*used, again)
						t.Log(about)
						if used < 0.97-0.24*others || again > 0.2+3*others {
							t.Error(about)
						}
					}
				}
			}
		}
	}
}

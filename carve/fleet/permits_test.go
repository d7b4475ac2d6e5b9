package fleet

import (
	"fmt"
	"testing"
	"time"
)

// TestPermitsForWhoWasIdle: where users go may be another gateway a moment later, so a
// gateway that has had none of late still has a part of the permits that users need who come
// at once; most go to where users are, and one quiet moment moves few of them.
func TestPermitsForWhoWasIdle(t *testing.T) {
	const gateways, exposure = 3, 30
	peaks := [gateways]int{}
	l := &log{at: Instant{Mono: time.Hour, Wall: time.Hour}, kv: map[string]Entry{}}
	l.node = New(Config{
		Member: "0", Run: 1, Lease: 4 * time.Second, Use: func(string) Use { return Use{Peak: peaks[0]} },
		Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: exposure}},
	}, l.at)
	l.node.Synced(l.at)
	seq := uint64(0)
	limits := func(leases int) (all [gateways]int) {
		for range leases * 5 {
			seq++
			for i := 1; i < gateways; i++ {
				l.put(memberKey(fmt.Sprint(i)), Report{
					Version: 1, Member: fmt.Sprint(i), Run: 1, Seq: seq, Grants: l.node.grants.Seq,
					Routes: map[string]RouteReport{RouteKey(path): {Digest: "d"}},
					Uses:   map[string]Use{"c": {Peak: peaks[i], Limit: l.node.grants.Candidates["c"][holder(fmt.Sprint(i), 1)].Limit}},
				})
			}
			l.run(800*time.Millisecond, true)
		}
		sum := 0
		for i := range all {
			all[i] = l.node.grants.Candidates["c"][holder(fmt.Sprint(i), 1)].Limit
			sum += all[i]
		}
		if sum > exposure {
			t.Errorf("%v are more than %d", all, exposure)
		}
		return all
	}
	if got := limits(5); got != [gateways]int{10, 10, 10} {
		t.Errorf("where nothing is known they are %v", got)
	}
	peaks = [gateways]int{20, 0, 0}
	got := limits(10)
	if got[0] < exposure/2 || got[1] < exposure/2/gateways || got[2] < exposure/2/gateways {
		t.Errorf("where one has the users they are %v", got)
	}
	peaks[0] = 0 // for one report
	if after := limits(0); after != got {
		t.Errorf("%v became %v at once", got, after)
	}
}

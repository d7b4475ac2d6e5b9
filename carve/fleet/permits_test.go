package fleet

import (
	"fmt"
	"testing"
	"time"
)

// TestPermitsAreEqualParts: each gateway that is heard of has the same part of the bound, also
// where it does not divide evenly, and where there are more gateways than permits nobody has one.
func TestPermitsAreEqualParts(t *testing.T) {
	l := start(t, nil) // with a bound of 10
	seq := uint64(0)
	with := func(others int) int {
		for range 30 {
			seq++
			for i := range others {
				name := fmt.Sprint(i)
				l.put(memberKey(name), Report{Version: 1, Member: name, Run: 1, Seq: seq})
			}
			l.run(time.Second, true)
		}
		return l.node.Limit("c", l.at)
	}
	for _, c := range []struct{ others, limit int }{{0, 10}, {2, 3}, {9, 1}, {10, 0}, {1, 5}} {
		if got := with(c.others); got != c.limit {
			t.Errorf("next to %d others it has %d permits, not %d", c.others, got, c.limit)
		}
	}
	l.node.Restarted()
	l.node.Synced(l.at) // of a store that has lost them
	l.run(2*time.Second, true)
	if l.kv[kindPermits].Revision == 0 || l.node.Limit("c", l.at) == 0 {
		t.Error("what the store has lost is not written again")
	}
	l.put(kindPermits, "not what can be read")
	if l.node.Limit("c", l.at) != 0 {
		t.Error("what cannot be read permits something")
	}
}

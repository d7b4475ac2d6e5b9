package plan

import (
	"testing"

	"whittle/internal/fatal"
)

var everything = Client{Ways: []Way{Get, Head, Post, Chunked, Expect, Events}, Largest: 10 << 20}

// TestDraw draws many plans: each is the same when it is drawn again, goes through its
// header, and has faults that fit; all faults and ways are drawn.
func TestDraw(t *testing.T) {
	const many = 200_000
	faults, ways := map[Fault]int{}, map[Way]int{}
	for n := uint64(1); n <= many; n++ {
		p := Draw(7, n, &everything)
		faults[p.Fault]++
		ways[p.Way]++
		got, err := Parse(p.Text())
		fatal.If(t, err)
		if got.Route = p.Route; *got != *p || *Draw(7, n, &everything) != *p {
			t.Fatalf("%+v became %+v", p, got)
		}
		switch {
		case p.Once && p.Candidate != p.Fault,
			p.Bodiless() && (p.Fault == ResetBody || p.Framing != ByLength),
			p.Once && p.Repeatable(), p.Fault == ReuseClose && !p.Repeatable():
			t.Fatalf("%+v does not fit", p)
		}
	}
	for f := range NumberOfFaults_ {
		if f != LastHarmless && faults[f] == 0 {
			t.Errorf("no %s in %d", f, many)
		}
	}
	if len(ways) != int(NumberOfWays_) {
		t.Errorf("ways %v", ways)
	}
	if none := faults[None]; none < many/2 || none > many*99/100 {
		t.Errorf("%d of %d have no fault", none, many)
	}
}

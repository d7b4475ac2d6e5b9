package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// somePhases draws phases of every kind.
func somePhases(rng *rand.Rand) []Phase {
	var out []Phase
	for range 1 + rng.IntN(4) {
		d := time.Duration(rng.Int64N(int64(5*time.Second))) + 1
		ph := Phase{Duration: d, Rate: rng.Float64() * 200}
		switch rng.IntN(5) {
		case 0:
			ph.Poisson = true
		case 1:
			ph.Ramp, ph.RampTo = true, rng.Float64()*200
		case 2:
			ph = Phase{Duration: d, HasCount: true, Count: rng.IntN(500)}
		case 3:
			ph = Phase{Duration: d}
		}
		out = append(out, ph)
	}
	return out
}

func allArrivals(next func() (Arrival, bool)) (out []Arrival) {
	for a, ok := next(); ok; a, ok = next() {
		out = append(out, a)
	}
	return out
}

// Of any phases, the parts' arrivals, each at its number in the whole, are the whole's:
// none is left out, none comes twice, none at another time. So are those of parts of
// parts, as event loops have them.
func TestPartsOfAScheduleAreTheWhole(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 5))
	for range 300 {
		phases, seed := somePhases(rng), rng.Uint64()
		pacer := func() func() (Arrival, bool) { return NewPacer(phases, rand.New(rand.NewPCG(seed, 1))).Next }
		whole := allArrivals(pacer())
		parts, loops := 1+rng.IntN(7), 1+rng.IntN(3)
		got := make([]Arrival, len(whole))
		taken := 0
		for i := range parts {
			for k := range loops {
				p := Part{i, parts}.Split(k, loops)
				own := allArrivals(p.Arrivals(pacer()))
				if int64(len(own)) != p.Share(int64(len(whole))) {
					t.Fatalf("part %v has %d arrivals of %d, its share is %d", p, len(own), len(whole), p.Share(int64(len(whole))))
				}
				for n, a := range own {
					got[p.Number(int64(n))] = a
					taken++
				}
			}
		}
		if taken != len(whole) || !slices.Equal(got, whole) {
			t.Fatalf("%d parts of %d loops have %d arrivals, the whole %d: %+v", parts, loops, taken, len(whole), phases)
		}
	}
}

// Shares and quotas add up, and who has no users has no loops.
func TestSharesAndQuotasAddUp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 6))
	for range 2000 {
		parts := 1 + rng.IntN(9)
		g := &Group{Closed: Closed{Users: 1 + rng.IntN(20), Total: rng.Int64N(MaxLoops)}}
		if rng.IntN(2) == 0 {
			g.Users, g.Total = 1+rng.IntN(MaxClosed), rng.Int64N(30)
		}
		users, quota := int64(0), int64(0)
		for i := range parts {
			p := Part{i, parts}
			n, q := p.Share(int64(g.Users)), p.Quota(g)
			users, quota = users+n, quota+q
			if q < 0 || n == 0 && q > 0 {
				t.Fatalf("part %v of %d users and %d loops has %d users and %d loops", p, g.Users, g.Total, n, q)
			}
		}
		if users != int64(g.Users) || quota != g.Total {
			t.Fatalf("%d parts have %d of %d users and %d of %d loops", parts, users, g.Users, quota, g.Total)
		}
	}
	if n := (Part{}).Share(9); n != 9 || (Part{}).Number(4) != 4 || !(Part{}).Takes(7) {
		t.Error("the zero part is not the whole")
	}
}

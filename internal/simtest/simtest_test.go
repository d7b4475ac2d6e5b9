package simtest

import (
	"fmt"
	"math"
	"testing"
)

// passes is the chance that runs which go wrong with a chance of p, independently, are
// held to a rate, and that they are said to exceed it: exactly, by the number of runs and
// of those that went wrong. left is the chance that most runs settle neither.
func passes(r *Rate, p float64, most int) (held, failed, left float64) {
	at := map[int]float64{0: 1} // the chance of so many that went wrong, while it is open
	for n := 1; n <= most; n++ {
		next := map[int]float64{}
		for bad, chance := range at {
			for i, part := range [2]float64{1 - p, p} {
				now := *AtMost(r.stated, r.own)
				now.bad = bad
				now.likelihood = float64(bad)*math.Log(r.own/r.stated) + float64(n-1-bad)*math.Log((1-r.own)/(1-r.stated))
				now.Saw(i == 1)
				switch {
				case now.held:
					held += chance * part
				case now.exceeded:
					failed += chance * part
				default:
					next[now.bad] += chance * part
				}
			}
		}
		at = next
	}
	return held, failed, 1 - held - failed
}

// TestRateErrsAsSeldomAsItSays: the chances of a Rate, worked out exactly, are those that
// it promises, and it comes to an end.
func TestRateErrsAsSeldomAsItSays(t *testing.T) {
	for _, r := range []*Rate{AtMost(0.01, 0.002), AtMost(0.01, 0.0004), AtMost(0.05, 0.001), AtMost(0.02, 0.008), AtLeast(0.98, 0.008)} {
		for _, times := range []float64{1, 1.2, 2, 10} {
			if held, _, left := passes(r, times*r.stated, 3000); held > doubt || left > 0.2 {
				t.Errorf("%v: %v times the stated rate passes with a chance of %.2g, %.2g undecided", *r, times, held, left)
			}
		}
		for _, part := range []float64{1, 0.5, 0} {
			if _, failed, left := passes(r, part*r.own, 5000); failed > byLuck || left > 0.02 {
				t.Errorf("%v: %v of the own rate fails with a chance of %.2g, %.2g undecided", *r, part, failed, left)
			}
		}
	}
}

// failures is a test that keeps what it failed by.
type failures struct {
	testing.TB
	said []string
}

func (t *failures) Errorf(format string, args ...any) {
	t.said = append(t.said, fmt.Sprintf(format, args...))
}

// TestInTurnFindsOneWorldOutOfMany: a world that errs ten times as often as is stated is
// found and named though the rate of all is kept, and the others are not.
func TestInTurnFindsOneWorldOutOfMany(t *testing.T) {
	worlds := map[string]int{}
	for i := range 60 {
		worlds[fmt.Sprintf("world %d", i)] = i
	}
	for _, tc := range []struct {
		every int // so many runs one of world 2 goes wrong
		said  int
	}{{1000, 0}, {10, 1}} {
		bare := &failures{TB: t}
		InTurn(bare, 0.01, 0.001, 0.05, worlds, func(world, run int) bool { return world == 2 && run%tc.every == tc.every/2 })
		if len(bare.said) != tc.said {
			t.Errorf("world 2 errs in 1 of %d runs: %q", tc.every, bare.said)
		}
	}
}

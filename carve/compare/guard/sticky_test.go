package guard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

// TestStickyFalseAlarms: of equal candidates, at most 1 in 100 is rolled back
// over a whole rollout of five steps and one retry, by any guard, whatever the
// number of users and however unlike they are, read after every request.
func TestStickyFalseAlarms(t *testing.T) {
	t.Parallel()
	runs := 100
	if os.Getenv("GUARD_TABLE") != "" {
		runs = 1000
	}
	for _, n := range []int{20, 100, 1000, 10_000} {
		for _, paired := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d users, pairs %v", n, paired), func(t *testing.T) {
				t.Parallel()
				alarms := map[string]int{}
				total := 0
				for run := range runs {
					r := rand.New(rand.NewPCG(uint64(run), uint64(n)))
					route := newGuardedRoute(n, r)
					route.paired, route.does.slower, route.noise = paired, 1, 0.002
					fell := route.rollout(3000) >= 0
					if !fell {
						route.g.Reset()
						route.pairs = 0
						fell = route.rollout(3000) >= 0
					}
					if fell {
						total++
						alarms[whichBreached(route)]++
					}
				}
				t.Logf("%d of %d rolled back: %v", total, runs, alarms)
				if total > runs/100 {
					t.Errorf("%d of %d equal candidates rolled back: %v", total, runs, alarms)
				}
			})
		}
	}
}

// The same users deceive a guard that takes their requests for independent ones:
// the simulation above is one that can fail.
func TestStickyUsersDeceiveWhoeverCountsRequests(t *testing.T) {
	t.Parallel()
	const runs = 100
	fell := 0
	for run := range runs {
		route := newGuardedRoute(20, rand.New(rand.NewPCG(uint64(run), 20)))
		route.does.slower, route.unknown = 1, true
		if route.rollout(3000) >= 0 {
			fell++
		}
	}
	if t.Logf("%d of %d rolled back", fell, runs); fell <= 2*runs/100 {
		t.Errorf("%d of %d rolled back", fell, runs)
	}
}

func whichBreached(t *guardedRoute) string {
	text := fmt.Sprintf("attempt %d at %d bp:", t.g.attempt, t.share)
	for _, m := range t.g.Meters() {
		if m.Breached {
			text += " " + m.Name
		}
	}
	return text
}

const (
	guardrailsDoc = "../../../docs/guardrails.md"
	guardStart    = "<!-- guards: GUARD_TABLE=1 go test ./carve/compare/guard -run TestTableOfGuards -update -->\n"
	guardFinish   = "<!-- end of guards -->\n"
	// guardMost is how many of the candidate's responses a run lasts.
	guardMost = 4000
)

var guardShares = []whittle.Share{100, 500, 2500, 5000}

// faulty is a row of the table.
type faulty struct {
	name   string
	does   behaviour
	paired bool
}

func faults() []faulty {
	return []faulty{
		{"fails always", behaviour{slower: 1, errors: 1}, true},
		{"fails in 10 % more", behaviour{slower: 1, errors: 0.1}, true},
		{"fails in 2 % more", behaviour{slower: 1, errors: 0.02}, true},
		{"is 5 times slower", behaviour{slower: 5}, true},
		{"is 2 times slower", behaviour{slower: 2}, true},
		{"fails always; nothing compared", behaviour{slower: 1, errors: 1}, false},
		{"fails in 10 % more; nothing compared", behaviour{slower: 1, errors: 0.1}, false},
		{"is 5 times slower; nothing compared", behaviour{slower: 5}, false},
	}
}

// foundAfter gives after how many of the candidate's responses to users each run
// was stopped, for a candidate that becomes faulty when the share begins;
// math.MaxInt: it was not.
func (f *faulty) foundAfter(n int, share whittle.Share, runs int) []int {
	var took []int
	for run := range runs {
		t := newGuardedRoute(n, rand.New(rand.NewPCG(uint64(run), uint64(n)+7)))
		t.paired, t.sample, t.does.slower = f.paired, 1, 1
		t.to(0)
		for range 4000 {
			t.next()
		}
		t.does = f.does
		t.to(share)
		at := math.MaxInt
		// Where the hash gave the candidate nobody, or hardly anybody, the traffic
		// ends the run.
		for most := 2 * guardMost * int(whittle.All) / int(share); t.served < guardMost && t.request < most; {
			if t.next() {
				at = t.served
				break
			}
		}
		took = append(took, at)
	}
	return took
}

// TestTableOfGuards makes the table of docs/guardrails.md; without GUARD_TABLE=1
// it plays a few of its cells, which must stay what the page says.
func TestTableOfGuards(t *testing.T) {
	t.Parallel()
	if os.Getenv("GUARD_TABLE") == "" {
		someGuardCells(t)
		return
	}
	var b strings.Builder
	b.WriteString("| the candidate | users | at 1 % of the users | at 5 % | at 25 % | at 50 % |\n|---|---:|---:|---:|---:|---:|\n")
	for _, f := range faults() {
		for _, n := range []int{20, 100, 1000, 10_000} {
			fmt.Fprintf(&b, "| %s | %s |", f.name, units.Grouped(n))
			for _, share := range guardShares {
				took := f.foundAfter(n, share, 40)
				fmt.Fprintf(&b, " %s (%s) |", orNever(simtest.Quantile(took, 0.5)), orNever(simtest.Quantile(took, 0.95)))
			}
			b.WriteString("\n")
		}
	}
	simtest.InDoc(t, guardrailsDoc, guardStart, guardFinish, b.String())
}

func orNever(n int) string {
	if n == math.MaxInt {
		return "–"
	}
	return units.Grouped(n)
}

// someGuardCells holds medians and 95th percentiles of cells against bounds.
func someGuardCells(t *testing.T) {
	list := faults()
	for _, c := range []struct {
		fault        int
		users        int
		share        whittle.Share
		median, most int
	}{
		{0, 100, 500, 8, 16},
		{1, 1000, 500, 100, 250},
		{2, 1000, 500, 900, 4000},
		{3, 20, 2500, 60, 120},
		{4, 20, 2500, 150, 800},
		{4, 10_000, 100, 60, 120},
		{5, 1000, 500, 8, 20},
	} {
		f := &list[c.fault]
		took := f.foundAfter(c.users, c.share, 20)
		if median, most := simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95); median > c.median || most > c.most {
			t.Errorf("%s, %d users, %d bp: found after %d (%d), expected %d (%d)", f.name, c.users, c.share, median, most, c.median, c.most)
		}
	}
}

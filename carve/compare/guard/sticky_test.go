package guard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

// TestStickyFalseAlarms: of equal candidates, at most 1 in 100 is rolled back
// over a whole rollout of five steps and one retry, by any guard, whatever the
// number of users and however unlike they are, read after every request; in each world
// by itself at most 6. A correct implementation may show 0.05 % (simtest.Rate).
func TestStickyFalseAlarms(t *testing.T) {
	t.Parallel()
	type world struct {
		users  int
		paired bool
	}
	worlds := map[string]world{}
	for _, n := range []int{20, 100, 1000, 10_000} {
		for _, paired := range []bool{false, true} {
			worlds[fmt.Sprintf("%d users, pairs %v", n, paired)] = world{n, paired}
		}
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.06, worlds, func(w world, run int) bool {
		route := newGuardedRoute(w.users, rand.New(rand.NewPCG(uint64(run), uint64(w.users))))
		route.paired, route.noise = w.paired, 0.002
		fell := route.rollout(3000) >= 0
		if !fell {
			route.g.Reset()
			route.pairs = 0
			fell = route.rollout(3000) >= 0
		}
		if fell {
			t.Logf("%+v, run %d: attempt %d at %d bp: %+v", w, run, route.g.Attempt, route.share, route.g.Meters())
		}
		return fell
	})
}

// TestAWeekAtAFullShare: of equal candidates, of which either side is odd in 1 of 500, the guards
// take back at most 1 in 100 within a week at the full share, five requests a minute. What a
// week has more of requests adds nothing: the bets stand on Ville's inequality, which no
// number of them weakens.
func TestAWeekAtAFullShare(t *testing.T) {
	t.Parallel()
	const perWeek = 7 * 24 * 60 * 5
	simtest.AtMost(0.01, 0.0005).Play(t, "taken back", func(run int) bool {
		route := newGuardedRoute(300, rand.New(rand.NewPCG(uint64(run), 77)))
		route.paired, route.noise, route.every = true, 0.002, 12*time.Second
		route.to(0, 2000)
		return route.to(whittle.All, perWeek)
	})
}

const (
	guardsTable = "testdata/guards.md"
	guardStart  = "<!-- guards: GUARD_TABLE=1 go test ./carve/compare/guard -run TestTableOfGuards -update -->\n"
	guardFinish = "<!-- end of guards -->\n"
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
		t.paired, t.sample = f.paired, 1
		t.to(0, 4000)
		t.does = f.does
		t.to(share, 0)
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

// TestTableOfGuards makes the table of testdata/guards.md; without GUARD_TABLE=1
// it plays some of its cells, as the table's runs are, which must be what the page says.
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
			b.WriteString(f.row(n))
			for _, share := range guardShares {
				fmt.Fprintf(&b, " %s |", f.cell(n, share))
			}
			b.WriteString("\n")
		}
	}
	simtest.InDoc(t, guardsTable, guardStart, guardFinish, b.String())
}

// row is how the table's row of so many users begins.
func (f *faulty) row(users int) string {
	return fmt.Sprintf("| %s | %s |", f.name, units.Grouped(users))
}

// cell is a cell of the table: the median and the 95th percentile of 40 runs.
func (f *faulty) cell(users int, share whittle.Share) string {
	took := f.foundAfter(users, share, 40)
	return fmt.Sprintf("%s (%s)", orNever(simtest.Quantile(took, 0.5)), orNever(simtest.Quantile(took, 0.95)))
}

func orNever(n int) string {
	if n == math.MaxInt {
		return "–"
	}
	return units.Grouped(n)
}

// someGuardCells holds the table's cells that are soon played: of each kind of fault
// one, with and without comparisons.
func someGuardCells(t *testing.T) {
	list := faults()
	for _, c := range []struct {
		fault, users, share int
	}{
		{0, 100, 1}, {0, 10_000, 3}, {1, 1000, 1}, {2, 10_000, 0}, {3, 20, 2}, {3, 1000, 3}, {4, 10_000, 0}, {5, 1000, 1},
	} {
		f := &list[c.fault]
		simtest.CellInDoc(t, guardsTable, guardStart, guardFinish, f.row(c.users), c.share, f.cell(c.users, guardShares[c.share]))
	}
}

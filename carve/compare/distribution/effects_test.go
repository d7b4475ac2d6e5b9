package distribution

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle/carve/compare/comparetest"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

const (
	effectsTable = "testdata/effects.md"
	tableStart   = "<!-- effects: go test ./carve/compare/distribution -run TestTableOfEffects -update -->\n"
	tableFinish  = "<!-- end of effects -->\n"
)

// effect is a candidate that differs from the monolith by a given amount.
type effect struct {
	name     string
	kind     string // the finding that names it
	most     int    // exchanges looked at
	response func(r *rand.Rand, per float64, i int) float64
}

func effects() []effect {
	shifted := func(by float64) func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, per float64, _ int) float64 {
			return math.Round((1 + by) * comparetest.MonolithCount(r, per))
		}
	}
	wide := func(ratio float64) func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, per float64, _ int) float64 {
			return math.Round(comparetest.MonolithMean*per + ratio*(comparetest.MonolithCount(r, per)-comparetest.MonolithMean*per))
		}
	}
	seldom := func(part float64) func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, per float64, _ int) float64 {
			if r.Float64() < part {
				return -1
			}
			return comparetest.MonolithCount(r, per)
		}
	}
	again := func(part float64) func(*rand.Rand, float64, int) float64 {
		last := map[float64]float64{}
		return func(r *rand.Rand, per float64, i int) float64 {
			if v, ok := last[per]; ok && i > 0 && r.Float64() < part {
				return v
			}
			last[per] = comparetest.MonolithCount(r, per)
			return last[per]
		}
	}
	skewed := func(r *rand.Rand, per float64, _ int) float64 {
		// The mean and the spread of the monolith, but leaning to one side.
		z := r.ExpFloat64() - 1
		return math.Round(comparetest.MonolithMean*per + z*math.Sqrt(per*comparetest.MonolithVariance))
	}
	return []effect{
		{"mean lower by 1 % (the published one)", "mean", 3_000, shifted(-0.01)},
		{"mean higher by 0.1 %", "mean", 3_000, shifted(0.001)},
		{"mean higher by 0.03 %", "mean", 3_000, shifted(0.0003)},
		{"mean higher by 0.01 %", "mean", 6_000, shifted(0.0001)},
		{"spread 2.24 times (√5)", "spread", 3_000, wide(math.Sqrt(5))},
		{"spread 1.5 times", "spread", 3_000, wide(1.5)},
		{"spread 1.25 times", "spread", 6_000, wide(1.25)},
		{"spread 0.5 times", "spread", 3_000, wide(0.5)},
		{"same mean and spread, skewed", "distribution", 6_000, skewed},
		{"1 response of 10 is -1", "wrong_value", 3_000, seldom(0.1)},
		{"1 response of 50 is -1", "wrong_value", 6_000, seldom(0.02)},
		{"1 response of 3 is the last one again", "repeats", 3_000, again(1.0 / 3)},
		{"1 response of 20 is the last one again", "repeats", 3_000, again(0.05)},
	}
}

// measureEffect gives after how many exchanges an effect was named in the
// middle run and in 19 of 20 runs.
func measureEffect(e *effect, seed uint64) (middle, most int) {
	const runs = 100
	w := comparetest.EqualWorlds()[0]
	var at []int
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), seed))
		s := play(&w, r, e.most, "request.times", e.response)
		at = append(at, s.namedAt(e.kind))
	}
	for i, n := range at {
		if n == 0 {
			at[i] = math.MaxInt
		}
	}
	slices.Sort(at)
	return at[runs/2], at[runs*19/20]
}

// namedAt is the exchange at which a kind's test passed its level; 0: not.
func (s *Method) namedAt(kind string) int {
	switch kind {
	case "mean":
		return s.Mean.At
	case "spread":
		return s.Spread.At
	case "distribution":
		return s.Distribution.At
	case "repeats":
		return s.Repeats.DecidedAt()
	}
	return s.Wrong.Bets.At
}

// Hypothesis to be rejected: the candidate is the same as the monolith. The
// table of testdata/effects.md says how many exchanges of the mixed load each
// effect takes; the figures are those of this program, to the digit.
func TestTableOfEffects(t *testing.T) {
	var b strings.Builder
	b.WriteString("| the candidate's difference | finding | exchanges, middle run | in 19 of 20 runs |\n|---|---|---:|---:|\n")
	shown := func(n, most int) string {
		if n == math.MaxInt {
			return fmt.Sprintf("more than %s", units.Grouped(most))
		}
		return units.Grouped(n)
	}
	for i, e := range effects() {
		middle, most := measureEffect(&e, uint64(40+i))
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", e.name, e.kind, shown(middle, e.most), shown(most, e.most))
	}
	table := b.String()
	t.Log("\n" + table)
	simtest.InDoc(t, effectsTable, tableStart, tableFinish, table)
}

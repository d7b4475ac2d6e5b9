package distribution

import (
	"math"
	"strings"
	"testing"

	"whittle/carve/compare/display"
	"whittle/internal/fatal"
)

// wrongOf makes wrong values of a rule over divisors, with a mean of 50.
func wrongOf(rule func(per, right float64) float64, pers ...float64) []wrongValue {
	var list []wrongValue
	for i, per := range pers {
		right := 50*per + float64(i%5)
		list = append(list, wrongValue{Per: per, X: right, Y: rule(per, right), Noise: 30 * math.Sqrt(per), Key: keyOfPer(per)})
	}
	return list
}

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []wrongValue
		cause  string
		fits   int
	}{
		{"int32", wrongOf(func(_, v float64) float64 { return float64(int32(int64(v))) }, 6e7, 7e7, 6e7, 1e8), "a 32-bit total wrapped", 4},
		{"uint32", wrongOf(func(_, v float64) float64 { return float64(uint32(int64(v))) }, 1e8, 1e8, 2e8), "a 32-bit total wrapped", 3},
		{
			"remainder", wrongOf(func(per, _ float64) float64 { return 50 * math.Floor(per/1e5) * 1e5 }, 150_000, 250_000, 120_000, 390_000),
			"request.times rounded down to a multiple of 100,000 in 4 of 4", 4,
		},
		{"zero", wrongOf(func(_, _ float64) float64 { return 0 }, 1e4, 1e5, 1e6), "the response is 0 in 3 of 3", 3},
		{"no rule", wrongOf(func(per, v float64) float64 { return v * (2 + math.Mod(per, 7)) }, 1e4, 1e4+1, 1e4+2, 1e4+3), "", 4},
		{"too few", wrongOf(func(_, v float64) float64 { return -v }, 1e4, 1e5), "", 2},
	} {
		groups := explain(c.values, "request.times")
		if len(groups) == 0 || !strings.Contains(groups[0].cause, c.cause) || len(groups[0].values) != c.fits || c.cause == "" && groups[0].cause != "" {
			t.Errorf("%s: %+v, want %q for %d", c.name, groups, c.cause, c.fits)
		}
	}
}

// Two causes at once are distinguished, and a cause says honestly how many of the
// wrong values it reaches it does not fit.
func TestTwoCauses(t *testing.T) {
	values := append(
		wrongOf(func(_, v float64) float64 { return float64(int32(int64(v))) }, 6e7, 6e7, 6e7, 6e7),
		wrongOf(func(per, _ float64) float64 { return 50 * math.Floor(per/1e5) * 1e5 }, 150_000, 250_000, 150_000, 250_000, 150_000)...)
	values = append(values, wrongOf(func(_, v float64) float64 { return 17 * v }, 250_000)...)
	groups := explain(values, "request.times")
	if len(groups) != 3 {
		t.Fatalf("%d groups, want 3: %+v", len(groups), groups)
	}
	if g := groups[0]; !strings.Contains(g.cause, "in 5 of 6: a remainder") {
		t.Errorf("first cause %q", g.cause)
	}
	if g := groups[1]; !strings.Contains(g.cause, "makes 4 of 4 fit") {
		t.Errorf("second cause %q", g.cause)
	}
	if g := groups[2]; g.cause != "" || len(g.values) != 1 {
		t.Errorf("what is left: %+v", g)
	}
}

func TestClassesOfRequests(t *testing.T) {
	tallies := []divisorTally{{1, 9, 0}, {1_000, 9, 0}, {100_000, 9, 0}, {150_000, 5, 5}, {250_000, 5, 5}, {1e6, 5, 0}, {6e7, 3, 3}}
	for _, c := range []struct {
		pers []float64
		want string
	}{
		{[]float64{6e7}, "request.times ≥ 60,000,000"},
		{[]float64{150_000, 250_000, 150_000}, "request.times = 150,000, 250,000"},
		{[]float64{1, 2, 3, 4, 5, 6}, "request.times = 1, 2, 3, 4, 5, 1 more"},
	} {
		var values []*wrongValue
		for _, p := range c.pers {
			values = append(values, &wrongValue{Per: p})
		}
		fatal.Same(t, class(values, tallies, "request.times"), c.want, "%v", c.pers)
		fatal.Same(t, class(values, tallies, ""), "", "without a divisor the class")
	}
	small := []divisorTally{{-5, 4, 4}, {0, 3, 3}, {10, 9, 0}}
	fatal.Same(t, class([]*wrongValue{{Per: -5}, {Per: 0}}, small, "request.times"), "request.times = -5, 0", "the class")
}

func TestFigures(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 49.5: "49.50", -1325061486: "-1,325,061,486", 4294967296: "4,294,967,296", 1234.5678: "1,235",
		0.00012346: "0.0001235", 1e-9: "1e-09", 1e20: "1e+20", math.Inf(1): "no number", 999: "999", -0.25: "-0.2500",
	} {
		fatal.Same(t, display.Figure(f), want, "%v is written", f)
	}
	for f, want := range map[float64]string{0: "0 %", 0.01: "1.0 %", 0.005: "0.50 %", 1.5: "150 %", 0.99: "99 %", -0.0042: "-0.42 %"} {
		fatal.Same(t, display.InPercent(f), want, "%v is written", f)
	}
}

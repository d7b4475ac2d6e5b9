package compare

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

// fields is a body in which the named fields have another value.
func fields(changed ...string) string {
	values := map[string]int{"stock": 1, "total": 5}
	for _, name := range changed {
		values[name] += 7
	}
	return fmt.Sprintf(`{"stock":%d,"total":%d}`, values["stock"], values["total"])
}

// TestNoiseExcusesNoMoreThanItExplains: that the monolith changed a field between
// its own two responses now and then makes no candidate EQUIVALENT that is wrong
// there far more often; one that changes it as often becomes so.
func TestNoiseExcusesNoMoreThanItExplains(t *testing.T) {
	for _, tc := range []struct {
		name                string
		monolith, candidate float64 // share of responses in which the field has changed
		n                   int
		inside              bool
	}{
		{"a field wrong in 5 %", 0.002, 0.05, 4000, false},
		{"a field wrong in 20 %, noisy in 5 %", 0.05, 0.2, 8000, false},
		{"a field that changes seldom", 0.002, 0.002, 3000, true},
		{"a field that changes now and then", 0.1, 0.1, 30_000, true},
		{"a field that changes often", 0.5, 0.5, 3000, true},
		{"a field that changes always", 1, 1, 3000, true},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		m := matchOf(t, testMatch)
		draw := func(p float64) string { return either(r.Float64() < p, fields("stock"), fields()) }
		m.Observe(repeated(exchange(fields(), fields()), fields("stock"))) // so it is noise from the first exchange on
		for i := range tc.n {
			m.Observe(withBodies(i, 20, func(side int) string { return draw([]float64{0, tc.candidate, tc.monolith}[side]) }))
		}
		findings, bounds := m.Report(0.01)
		more := moreFor(bounds)
		if len(bounds) == 1 && len(findings) == 1 && findings[0].Decided && !tc.inside {
			continue // shown to be no noise: better still
		}
		b := bounds[len(bounds)-1]
		t.Logf("%s after %d: %s", tc.name, tc.n, b.Summary)
		if b.What != boundNoise || b.Inside != tc.inside || tc.inside && !bounds[0].Inside || !strings.HasPrefix(b.Summary, "$.stock differs in ") || tc.inside != (more == 0) {
			t.Errorf("%s: %+v, %d more", tc.name, bounds, more)
		}
	}
}

// noiseInside is whether noiseBound is inside its margin, without what it says.
func (m *match) noiseInside(alpha float64) bool {
	return !slices.ContainsFunc(m.changedByNoise(), func(c noise.Changed) bool {
		c.Bound(alpha)
		return c.Excess > noise.Slack
	})
}

// TestTheNoiseBoundHolds: a candidate that changes a place just as often as the
// margin allows is called inside it in at most 1 of 100 whole runs, read after
// every 100th exchange (the bound is time-uniform: Ville's inequality). The
// monolith's share is known well, so that all depends on the candidate's; with no
// confidence to speak of the bound errs, which the test must see: in 1 of 20 of 200
// runs. A correct implementation may show 0.2 % (simtest.Rate).
func TestTheNoiseBoundHolds(t *testing.T) {
	const length = 4000
	r := rand.New(rand.NewPCG(5, 6))
	inside := func(alpha float64) bool {
		m := &match{c: testMatch, forms: &form.Forms{}, evidence: evidence{
			noise: &noise.Learned{Learnt: map[noise.Key]bool{{Path: "$.a", Way: jsondiff.HowValue}: true}},
		}}
		k := newMark(markKey{Path: "$.a", How: jsondiff.HowValue, Expect: -1}, 0)
		m.marks = []*mark{&k}
		m.repeats = 10_000_000 // in which the monolith never did
		for m.n < length {
			m.n++
			if r.Float64() < noise.Slack {
				k.Count++
			}
			if m.n%100 == 0 && m.noiseInside(alpha) {
				return true
			}
		}
		return false
	}
	simtest.AtMost(0.01, 0.002).Play(t, "called inside", func(int) bool { return inside(0.01) })
	const runs = 200
	wrong := 0
	for range runs {
		wrong += int(eprocess.Indicator(inside(1)))
	}
	if wrong < runs/20 {
		t.Errorf("%d of %d runs were called inside without confidence", wrong, runs)
	}
}

const (
	repeatsTable  = "testdata/repeats.md"
	repeatsStart  = "<!-- repeats: MATCH_TABLE=1 go test ./carve/compare -run TestHowManyRepeatsNoiseTakes -update -->\n"
	repeatsFinish = "<!-- end of repeats -->\n"
)

// TestHowManyRepeatsNoiseTakes measures after how many repeats an equal candidate is
// known to change a noisy place no more than noise explains: the table
// testdata/repeats.md. Without MATCH_TABLE=1 it plays the rows that are soon played, as the
// table's runs are, which must be what the page says.
func TestHowManyRepeatsNoiseTakes(t *testing.T) {
	t.Parallel()
	shares := []struct {
		share float64
		most  int // repeats of a run
		soon  bool
	}{{0.001, 120, true}, {0.01, 1800, false}, {0.02, 4000, false}, {0.05, 4800, false}, {0.1, 3000, false}, {0.2, 1400, true}, {0.5, 600, true}, {1, 120, true}}
	var b strings.Builder
	b.WriteString("| the place changes in | repeats |\n|---|---:|\n")
	all := os.Getenv("MATCH_TABLE") != ""
	for _, c := range shares {
		row := fmt.Sprintf("| %v %% of responses |", 100*c.share)
		if !all && !c.soon {
			continue
		}
		took := repeatsUntilInside(t, c.share, c.most)
		cell := fmt.Sprintf("%s (%s)", units.Grouped(simtest.Quantile(took, 0.5)), units.Grouped(simtest.Quantile(took, 0.95)))
		if fmt.Fprintf(&b, "%s %s |\n", row, cell); !all {
			simtest.CellInDoc(t, repeatsTable, repeatsStart, repeatsFinish, row, 0, cell)
		}
	}
	if all {
		simtest.InDoc(t, repeatsTable, repeatsStart, repeatsFinish, b.String())
	}
}

// repeatsUntilInside gives the repeats that each of 30 runs took at a place that either
// side changes in a share of its responses, with one exchange in 20 repeated.
func repeatsUntilInside(t *testing.T, share float64, most int) (took []int) {
	const every, runs = 20, 30
	r := rand.New(rand.NewPCG(21, uint64(1000*share)))
	for range runs {
		m := matchOf(t, testMatch)
		m.Observe(repeated(exchange(fields(), fields()), fields("stock"))) // noise from the first exchange on
		for inside := false; !inside && m.repeats < most; {
			x, again := exchange(fields(), fields()), fields()
			if r.Float64() < share {
				x.Candidate.Body = []byte(fields("stock"))
			}
			if m.n%every == 0 {
				if r.Float64() < share {
					again = fields("stock")
				}
				repeated(x, again)
			}
			if m.Observe(x); x.Repeat != nil {
				bound, _ := m.noiseBound(0.01)
				inside = bound.Inside
			}
		}
		took = append(took, m.repeats)
	}
	return took
}

// TestAFieldThatComesAndGoes on both sides alike keeps nobody from EQUIVALENT.
func TestAFieldThatComesAndGoes(t *testing.T) {
	for _, there := range []float64{0.5, 0.02} {
		r := rand.New(rand.NewPCG(11, 12))
		m := matchOf(t, testMatch)
		for i := range 40_000 {
			m.Observe(withBodies(i, 20, func(int) string { return either(r.Float64() < there, `{"a":1,"hint":"x"}`, `{"a":1}`) }))
		}
		if _, bounds := m.Report(0.01); len(bounds) != 2 || moreFor(bounds) != 0 {
			t.Errorf("there in %v: %+v", there, bounds)
		}
	}
}

// TestNoiseExplainsWhatCameBeforeIt: places that are learned at the 20th exchange
// explain the nineteen before it, however many they are.
func TestNoiseExplainsWhatCameBeforeIt(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	m := matchOf(t, testMatch)
	for i := range 1200 {
		m.Observe(withBodies(i, 20, func(int) string { return prices(r, 40, 5) }))
	}
	if m.refresh(); m.share.Differing != 0 {
		t.Errorf("%d of %d differ still", m.share.Differing, m.n)
	}
}

// TestChosenRepeatsSpeakForThemselves: where those requests are repeated that are
// quieter than others, as a log may have it, the candidate is held against the
// noise of the same requests.
func TestChosenRepeatsSpeakForThemselves(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		r := rand.New(rand.NewPCG(17, 18))
		m := matchOf(t, testMatch)
		m.chosen = chosen
		draw := func(p float64) string { return either(r.Float64() < p, fields("stock"), fields()) }
		for i := range 20_000 {
			popular := i%2 == 0
			p := either(popular, 0.05, 0.3)
			x := exchange(fields(), draw(p))
			if popular {
				repeated(x, draw(p))
			}
			m.Observe(x)
		}
		if _, bounds := m.Report(0.01); bounds[1].Inside != chosen {
			t.Errorf("chosen %v: %+v", chosen, bounds)
		}
	}
}

// prices is a response with more places that change by themselves than are kept
// apart.
func prices(r *rand.Rand, n, total int) string {
	var b strings.Builder
	b.WriteString(`{"prices":{`)
	for i := range n {
		fmt.Fprintf(&b, `"T%c%c":{"at":%d},`, 'a'+i/26, 'a'+i%26, r.Uint32())
	}
	fmt.Fprintf(&b, `"end":{}},"total":%d}`, total)
	return b.String()
}

// TestManyNoisyPlacesHideNothing: what lies beyond the places that are distinguished,
// or that are remembered of an exchange, is not taken for the same.
func TestManyNoisyPlacesHideNothing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 60, 100, 200} {
		r := rand.New(rand.NewPCG(7, 8))
		m := matchOf(t, testMatch)
		for i := range 600 {
			m.Observe(withBodies(i, 5, func(side int) string { return prices(r, n, 5+i%2*(side%2)) }))
		}
		for _, at := range []string{"there", "put away"} {
			findings, bounds := m.Report(0.01)
			if bounds[0].Inside || bounds[0].Estimate < 0.4 || len(findings) == 0 {
				t.Errorf("%d places, %s: %+v %+v", n, at, bounds, findings)
			}
			m = revived(t, m, testMatch)
		}
	}
}

// TestManyPlacesOfAnEqualCandidate: where they are not distinguished it stays
// undecided and says what to do, and ignoring them decides.
func TestManyPlacesOfAnEqualCandidate(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	c := testMatch
	for _, ignored := range []bool{false, true} {
		if ignored {
			c.Ignore = []string{"$.prices.*.at"}
		}
		m := matchOf(t, c)
		for i := range 3000 {
			m.Observe(withBodies(i, 10, func(int) string { return prices(r, 100, 5) }))
		}
		findings, bounds := m.Report(0.01)
		said := len(findings) > 0 && !findings[0].Decided && strings.Contains(findings[0].Cause, "ignore those")
		if bounds[0].Inside != ignored || said == ignored {
			t.Errorf("ignored %v: %+v %+v", ignored, bounds, findings)
		}
	}
}

package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/guard"
	"whittle/carve/compare/promisetest"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

// TestFindingsByWhatTheyTouch: what is shown comes first, then what touches the most
// requests; what is declared comes last.
func TestFindingsByWhatTheyTouch(t *testing.T) {
	list := []whittle.Finding{
		{Path: "rare", Count: 9, Decided: true, Cause: "known"},
		{Path: "suspected", Count: 900},
		{Path: "declared", Count: 2000, Decided: true, Expected: "on purpose"},
		{Path: "half", Count: 1020, Decided: true},
	}
	orderFindings(list)
	var got []string
	for _, f := range list {
		got = append(got, f.Path)
	}
	if want := "half rare suspected declared"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestASmallMeanDoesNotHideWrongValues: where half of the responses are wrong
// values, everything that is said of the mean says that they are left out of it,
// and they come first.
func TestASmallMeanDoesNotHideWrongValues(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 3, 600, comparetest.Flaws{}, func(i int, x *whittle.Exchange) {
		if i > 100 && i%2 == 0 {
			x.Candidate.Body = []byte("Counted to 7 \n")
		}
	})
	v := j.Verdict()
	if len(v.Findings) == 0 || v.Findings[0].Kind != whittle.FoundWrongValue {
		t.Errorf("first is %+v", v.Findings)
	}
	for _, f := range v.Findings {
		if f.Kind == whittle.FoundMean && !strings.Contains(f.Summary, "are left out of this as wrong values") {
			t.Errorf("%s", f.Summary)
		}
	}
	for _, b := range v.Bounds {
		if b.What == "mean" && !strings.Contains(b.Summary, " responses are left out of this as wrong values") {
			t.Errorf("%s", b.Summary)
		}
	}
	same := judgeOf(t, countRoute())
	drive(same, 3, 200, comparetest.Flaws{}, nil)
	if v := same.Verdict(); strings.Contains(v.Bounds[0].Summary, "left out") {
		t.Errorf("nothing was left out: %s", v.Bounds[0].Summary)
	}
}

// TestTakenBackIsSaid: where a DIFFERENT goes away, because what had shown it turns out to vary
// by itself, the verdict says so, after a restart too. Nobody who was told DIFFERENT finds an
// UNDECIDED without a word.
func TestTakenBackIsSaid(t *testing.T) {
	t.Parallel()
	j, different, back := equivalenceJudge(t), false, false
	r := rand.New(rand.NewPCG(1, 5))
	for i := 0; i < 3000 && !back; i++ {
		late := i >= 400 // from then on the monolith varies as well
		x := withBodies(i, 20, func(side int) string {
			if side == form.Candidate || late && r.IntN(2) == 0 {
				return `{"a":1,"rank":null}`
			}
			return fmt.Sprintf(`{"a":1,"rank":%d}`, i%30)
		})
		x.At, x.Request.Target = simtest.Start.Add(time.Duration(i)*300*time.Millisecond), fmt.Sprintf("/x/%d", i%30)
		if j.Observe(x); i%20 != 19 {
			continue
		}
		v := j.Verdict()
		different = different || v.State == whittle.Different
		back = different && v.State != whittle.Different
		if said := strings.Contains(v.Summary, "was taken back"); said != back {
			t.Fatalf("DIFFERENT before: %t, %s", different, v.Summary)
		}
	}
	again := equivalenceJudge(t)
	restore(t, j, again)
	if v := again.Verdict(); !back || !strings.Contains(v.Summary, "was taken back") {
		t.Errorf("DIFFERENT before: %t, %s", different, v.Summary)
	}
}

// Of requests that whittle asked both sides of, in an order that it drew, both orders count
// for the verdict, and none for what users got.
func TestUnservedOrdersAreOneBody(t *testing.T) {
	for _, tt := range []struct {
		name string
		odd  int // the candidate is wrong in one of so many; 0: never
		want whittle.State
	}{{"equal", 0, whittle.Equivalent}, {"odd", 20, whittle.Different}} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(37, 3))
			j := judgeOf(t, comparetest.FormComparison)
			n := 0
			for ; n < 5000 && j.Verdict().State == whittle.Undecided; n++ {
				x := comparetest.Gave(float64(n)/20, 0, fmt.Sprintf("/items/%d", n), fmt.Sprintf(`{"id":%d}`, n))
				x.Unserved, x.Served, x.FirstChance = true, whittle.Side(r.IntN(2)), 0.5
				x.Candidate = x.Monolith
				if tt.odd > 0 && n%tt.odd == 0 {
					x.Candidate.Body = []byte(`{"id":-1}`)
				}
				if again := x.Monolith; n%20 == 0 {
					x.Repeat = &again
				}
				j.Observe(x)
			}
			v := j.Verdict()
			if v.State != tt.want || v.Compared != n || n > 3000 {
				t.Errorf("%d exchanges: %s", n, v.Summary)
			}
			if s := j.Served(); s.Compared != 0 {
				t.Errorf("%+v of what users got", s)
			}
		})
	}
}

// TestMoreNeededStaysUnknown: where nobody knows how many exchanges one bound takes, a bound of
// which it is known does not make a number of it.
func TestMoreNeededStaysUnknown(t *testing.T) {
	t.Parallel()
	m := matchOf(t, testMatch)
	say := func(i int, other bool) string {
		if !other {
			i = 0
		}
		return fmt.Sprintf(`{"id":"%08x"}`, 0xa1b2c3d4^7919*i)
	}
	for i := range 100 { // the candidate changes in 30 % what the monolith does in 10 % of its repeats
		m.Observe(withBodies(i, 5, func(side int) string {
			return say(i, side == form.Candidate && i%10 < 3 || side == form.Repeat && i%50 == 4)
		}))
	}
	noise, _ := m.noiseBound(m.alpha)
	ofForms, waits := m.forms.Bound(m.n)
	if noise.More != -1 || !waits || ofForms.More <= 0 {
		t.Fatalf("noise takes %d more and forms %d", noise.More, ofForms.More)
	}
	_, bounds := m.Report(m.alpha)
	fatal.Same(t, moreFor(bounds), -1, "what is needed, which nobody knows")
}

// TestNoiseOfOnePlaceExcusesNoOther: where the monolith changes one element of a list, one
// key or the last digits of a number by itself, a candidate that is wrong in another
// element, under another key or in the whole number is named and not EQUIVALENT, and one that is right is EQUIVALENT; and numbers of a state that each server has
// of its own, which lie far apart, are UNDECIDED until a form is declared.
func TestNoiseOfOnePlaceExcusesNoOther(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 9))
	load := [2]float64{0.3, 88.5}
	for _, c := range []struct {
		name string
		say  func(id int, candidate bool) string
		word whittle.State
		at   string
		pace time.Duration // 0: 150 ms
	}{
		{"another element", func(id int, candidate bool) string {
			return fmt.Sprintf(`{"id":%d,"items":[{"price":%d},{"price":%d},{"price":%d}]}`, id, r.IntN(1000), id*3, id*7+either(candidate, 1, 0))
		}, whittle.Undecided, "$.items[*].price", 0},
		{"the same elements", func(id int, _ bool) string {
			return fmt.Sprintf(`{"id":%d,"items":[{"price":%d},{"price":%d},{"price":%d}]}`, id, r.IntN(1000), id*3, r.IntN(7))
		}, whittle.Equivalent, "", 0},
		{"another key", func(id int, candidate bool) string {
			return fmt.Sprintf(`{"id":%d,"by":{"2023":%d,"2024":%d}}`, id, id*3+either(candidate, 1, 0), r.IntN(1000))
		}, whittle.Undecided, "$.by.*", 0},
		{"another number", func(id int, candidate bool) string {
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)*either(candidate, 1.02, 1)+r.Float64()/1e6)
		}, whittle.Undecided, "$.total", 0},
		{"another number, within seconds", func(id int, candidate bool) string {
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)*either(candidate, 1.5, 1)+r.Float64()/1e4)
		}, whittle.Undecided, "$.total", time.Millisecond},
		{"the same number", func(id int, _ bool) string {
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)+r.Float64()/1e6)
		}, whittle.Equivalent, "", 0},
		{"a load of its own", func(id int, candidate bool) string {
			own := &load[either(candidate, 1, 0)]
			*own *= 1 + (r.Float64()-0.5)/100
			return fmt.Sprintf(`{"id":%d,"load":%v}`, id, *own)
		}, whittle.Undecided, "$.load", 0},
	} {
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		for n := range 4000 {
			id := 100 + r.IntN(40)
			x := withBodies(n, 20, func(side int) string { return c.say(id, side == form.Candidate) })
			x.Request.Target, x.At = fmt.Sprintf("/things/%d", id), x.At.Add(time.Duration(n)*cmp.Or(c.pace, 150*time.Millisecond))
			j.Observe(x)
		}
		v := j.Verdict()
		if v.State != c.word || c.at != "" && !strings.Contains(v.Findings[0].Path, c.at) {
			t.Errorf("%s: %s; %+v", c.name, v.Summary, v.Findings)
		}
	}
}

// lateRun plays services of which a response takes 200 ms in the middle and one in a few
// dozens more than the candidate's bound; the candidate is slower by a factor.
func lateRun(t *testing.T, seed uint64, factor float64, n int) whittle.Verdict {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	r := rand.New(rand.NewPCG(seed, 51))
	took := func(factor float64) time.Duration {
		return time.Duration(factor * float64(200*time.Millisecond) * math.Exp(1.6*r.NormFloat64()))
	}
	const bound = 5 * time.Second
	for i := range n {
		x := exchange(`{"a":1}`, `{"a":1}`)
		x.At = simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)
		x.Monolith.Latency, x.Candidate.Latency = took(1), took(factor)
		if x.Candidate.Latency > bound {
			over := time.Duration(r.IntN(int(20 * time.Millisecond)))
			x.Candidate = whittle.Response{Failure: whittle.FailedTimeout, Latency: bound + over}
		}
		j.Observe(x)
	}
	return j.Verdict()
}

// TestLateAlikeIsNoFailure: of two services that are late alike the candidate alone is given
// up, after 5 s, since the monolith's bound is longer. It is called DIFFERENT in at most 5 of
// 100 runs, and one that is late twice as often or more in all.
//
// Hypothesis: either side's response takes longer than the bound as likely as the other's.
// Error rate: 3 % of 0.01, what a head may spend. Source: Ville's inequality, as in header.Head.
func TestLateAlikeIsNoFailure(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.05, 0.001).Play(t, "refused", func(run int) bool {
		return lateRun(t, uint64(run), 1, 3000).State == whittle.Different
	})
	for seed := range 10 {
		if v := lateRun(t, uint64(seed), 3, 3000); v.State != whittle.Different {
			t.Errorf("run %d: %s", seed, v.Summary)
		}
	}
}

// TestAWeekOfOddities: of two equal sides, each odd by chance, what is bet on the first one
// being odd alone takes back at most 1 of 100 candidates in a week of three million compared
// exchanges, asked about once a second: not where both are often odd, nor seldom, nor where data
// move between the two responses in 1 of 2,000, which makes the first seem odd.
func TestAWeekOfOddities(t *testing.T) {
	t.Parallel()
	const exchanges, perSecond = 3_000_000, 5
	worlds := map[string]struct{ odd, moved float64 }{
		"1 of 50": {0.02, 0}, "1 of 5,000": {0.0002, 0}, "moved in 1 of 2,000": {0.0001, 0.0005},
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.05, worlds, func(w struct{ odd, moved float64 }, run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 9))
		b := newRechecks().Lopsided
		all := 2*w.odd + w.moved
		for n := 0; ; {
			gap := 1 + int(math.Log(1-r.Float64())/math.Log1p(-all))
			gap = max(gap, perSecond)
			if n += gap; n > exchanges {
				return false
			}
			b.Quiet = gap - 1
			if b.odd(r.Float64()*all >= w.odd, eprocess.OfRest*0.01, n); b.Decided() {
				return true
			}
		}
	})
}

func TestPromises(t *testing.T) {
	t.Parallel()
	promisetest.Judges(t, func(t testing.TB, c whittle.Comparison) promisetest.Judge {
		return judgeOf(t, c)
	})
}

const (
	turnsTable  = "testdata/taken-back.md"
	turnsStart  = "<!-- turns: TURNS_TABLE=1 go test ./carve/compare -run TestTableOfTurns -update -->\n"
	turnsFinish = "<!-- end of turns -->\n"
	// turnsMost is how many requests a run lasts.
	turnsMost = 40_000
)

var (
	turnsWrong  = []float64{1, 0.1, 0.02, 0.0025}
	turnsShares = []float64{0.01, 0.25, 1}
	turnsAt     = []promisetest.Turn{
		{PerSecond: 10, Watch: 0.05},
		{PerSecond: 100, Watch: 0.05},
		{PerSecond: 100, Watch: 0.2},
		{PerSecond: 1000, Watch: 0.05},
	}
)

// defaultGuard has the shipped limits.
var defaultGuard = whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, Confidence: 0.99}

// TestNoiseThatIsNotKnownYet: before noise is learned no guard counts it.
func TestNoiseThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		if promisetest.FromTheFirst(judgeOf(t, testMatch), guard.New(defaultGuard), seed) {
			t.Errorf("seed %d: a guard speaks", seed)
		}
	}
}

func turnsRow(wrong, share float64) string {
	return fmt.Sprintf("| %s | %s |", display.InPercent(wrong), display.InPercent(share))
}

// turnsCell has the medians of eleven runs.
func turnsCell(t *testing.T, wrong, share float64, at promisetest.Turn) string {
	at.Wrong, at.Share = wrong, share
	c := testMatch
	c.MaxDiffer = 0
	var took, met []int
	for run := range uint64(11) {
		g := guard.New(defaultGuard)
		tenths, users, found := at.TakenBack(judgeOf(t, c), g, run, turnsMost)
		if !found {
			tenths, users = 1<<40, 1<<40
		}
		took, met = append(took, tenths), append(met, users)
	}
	if simtest.Quantile(took, 0.5) == 1<<40 {
		return "–"
	}
	return fmt.Sprintf("%.1f, %s", float64(simtest.Quantile(took, 0.5))/10, units.Grouped(simtest.Quantile(met, 0.5)))
}

// TestTableOfTurns makes the table of testdata/taken-back.md; without TURNS_TABLE=1 it plays some of
// its cells, which must be what the page says.
func TestTableOfTurns(t *testing.T) {
	t.Parallel()
	if os.Getenv("TURNS_TABLE") == "" {
		for _, c := range [][3]int{{0, 2, 1}, {1, 1, 2}, {2, 2, 3}} {
			wrong, share := turnsWrong[c[0]], turnsShares[c[1]]
			simtest.CellInDoc(t, turnsTable, turnsStart, turnsFinish, turnsRow(wrong, share), c[2], turnsCell(t, wrong, share, turnsAt[c[2]]))
		}
		return
	}
	var b strings.Builder
	b.WriteString("| wrong in | share |")
	for _, at := range turnsAt {
		fmt.Fprintf(&b, " %d/s, %g |", at.PerSecond, at.Watch)
	}
	b.WriteString("\n|---:|---:|" + strings.Repeat("---:|", len(turnsAt)) + "\n")
	for _, wrong := range turnsWrong {
		for _, share := range turnsShares {
			b.WriteString(turnsRow(wrong, share))
			for _, at := range turnsAt {
				fmt.Fprintf(&b, " %s |", turnsCell(t, wrong, share, at))
			}
			b.WriteString("\n")
		}
	}
	simtest.InDoc(t, turnsTable, turnsStart, turnsFinish, b.String())
}

package compare

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/guard"
	"whittle/carve/compare/promisetest"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

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
